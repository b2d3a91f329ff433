#pragma once
// The kernels, as templates of a struct `Vectors` that wraps the instructions of one instruction set.
//
// Everything here has internal linkage and calls only functions with internal linkage. Otherwise several kernels_*.cc
// would each compile the same function. The linker would keep one of them, perhaps one with instructions that this
// processor lacks.
#include <cstddef>
#include <type_traits>
#include <utility>

#include "indexes/simdht/bucket.h"
#include "indexes/simdht/kernels.h"

namespace latchlab::simdht {
namespace {

// The static members of a `Vectors`:
//
//   kGathers                    true if it has the members below the line
//   end()                       runs at the end of a kernel
//   equal<Word, kCount>(at, wanted)
//                               returns bit i set if at[i] is the wanted word, for i below kCount. May load whole
//                               vectors of a bucket
//   ---
//   Lanes<Word>                 a vector of u32 or u64, with the operators of one
//   Mask<Word>                  a set of its lanes, with & and ~
//   all<Word>()                 every lane
//   equal(a, b)                 the lanes in which two vectors are equal
//   bits<Word>(mask)            bit i is set if lane i is in the mask
//   chosen(mask, a, b)          a in the lanes of the mask, b in the others; for u32
//   gather_pairs(mask, at, numbers, keys, values)
//                               gathers from buckets of 8 bytes, in the lanes of the mask; the others are undefined
//   gather(mask, other, at, numbers)
//                               gathers u64 words at buckets of 16 bytes; `other` in the lanes outside the mask

/// Looks up keys one bucket after the other: a later bucket only for keys that the buckets before it lack. The lines of
/// all keys are prefetched together. The first round has no branch on its results, so none is mispredicted.
template <class Vectors, class KeyWord, class ValueWord, u32 kFunctions, u32 kSlots>
u64 find_horizontally(const View& view, const u64* keys, u32 count, u64* values) {
  using Bucket = BucketOf<KeyWord, ValueWord, kSlots>;
  using Hash = HashOf<KeyWord>;
  const auto* const buckets = reinterpret_cast<const Bucket*>(view.buckets);
  const Bucket* at[kMostKeys];
  const auto go = [&](u32 i, u32 function) __attribute__((always_inline)) {
    const auto key = static_cast<KeyWord>(keys[i]);
    const auto seed = static_cast<Hash>(view.seeds[function]);
    at[i] = &buckets[bucket_number<Hash, Hash>(key, seed, static_cast<Hash>(view.mask))];
    __builtin_prefetch(at[i]);  // prefetches directly, since a kernel has no machine parameter
  };
  u64 found = 0;
  const auto look = [&](u32 i) __attribute__((always_inline)) {
    const u32 equal = Vectors::template equal<KeyWord, kSlots>(at[i]->key, static_cast<KeyWord>(keys[i]));
    // Uses the last slot if none is equal: a load that is always valid instead of a branch.
    values[i] = at[i]->value[__builtin_ctz(equal | u32{1} << (kSlots - 1))];
    found |= u64{equal != 0} << i;
  };
  for (u32 i = 0; i < count; ++i) go(i, 0);
  for (u32 i = 0; i < count; ++i) look(i);
  u64 rest = ~found & ~u64{0} >> (kMostKeys - count);
  for (u32 function = 1; function < kFunctions && rest != 0; ++function) {
    for (u64 left = rest; left != 0; left &= left - 1) go(static_cast<u32>(__builtin_ctzll(left)), function);
    for (u64 left = rest; left != 0; left &= left - 1) look(static_cast<u32>(__builtin_ctzll(left)));
    rest &= ~found;
  }
  Vectors::end();
  return found;
}

/// Looks up as many keys at once as there are lanes. Lanes have 32 bits if keys and values have no more. Then a pair is
/// gathered as one word of 64 bits. Otherwise a second gather reads the values of the equal keys.
template <class Vectors, class KeyWord, class ValueWord, u32 kFunctions, bool kSelects>
u64 find_vertically(const View& view, const u64* keys, u32 count, u64* values) {
  using Bucket = BucketOf<KeyWord, ValueWord, 1>;
  using Word = std::conditional_t<sizeof(Bucket) == 8, u32, u64>;
  using Lanes = typename Vectors::template Lanes<Word>;
  using Mask = typename Vectors::template Mask<Word>;
  constexpr u32 kLanes = sizeof(Lanes) / sizeof(Word);
  u64 found = 0;
  for (u32 first = 0; first < count; first += kLanes) {
    const u32 here = count - first < kLanes ? count - first : kLanes;
    const auto for_each_key = [&](const auto& run) __attribute__((always_inline)) {
      // Whole groups have a loop of their own: g++ turns a loop of known length into a few vector instructions.
      if (here == kLanes) {
        for (u32 i = 0; i < kLanes; ++i) run(i);
      } else {
        for (u32 i = 0; i < here; ++i) run(i);
      }
    };
    alignas(sizeof(Lanes)) Word words[kLanes] = {};  // zeros: a lane without a key looks up 0, which is harmless
    for_each_key([&](u32 i) __attribute__((always_inline)) { words[i] = static_cast<Word>(keys[first + i]); });
    Lanes key;
    __builtin_memcpy(&key, words, sizeof key);
    Lanes value = {};
    Mask rest = Vectors::template all<Word>();
    for (u32 function = 0; function < kFunctions; ++function) {
      const Lanes number = bucket_number<KeyWord, Lanes>(key, static_cast<KeyWord>(view.seeds[function]),
                                                         Lanes{} + static_cast<Word>(view.mask));
      const Mask asked = kSelects ? rest : Vectors::template all<Word>();
      Mask equal;
      if constexpr (sizeof(Word) == 4) {
        Lanes there, theirs;
        Vectors::gather_pairs(asked, view.buckets, number, there, theirs);
        equal = Vectors::equal(there, key) & rest;
        value = Vectors::chosen(equal, theirs, value);
      } else {
        Lanes there = Vectors::gather(asked, Lanes{}, view.buckets, number);
        if constexpr (sizeof(KeyWord) < sizeof(Word)) there &= 0xffffffffu;
        equal = Vectors::equal(there, key) & rest;
        value = Vectors::gather(equal, value, view.buckets + offsetof(Bucket, value), number);
      }
      rest &= ~equal;
      if constexpr (kSelects) {
        if (Vectors::template bits<Word>(rest) == 0) break;
      }
    }
    __builtin_memcpy(words, &value, sizeof value);
    for_each_key([&](u32 i) __attribute__((always_inline)) { values[first + i] = words[i]; });
    found |= static_cast<u64>(~Vectors::template bits<Word>(rest) & ((u64{1} << kLanes) - 1)) << first;
  }
  Vectors::end();
  return found & ~u64{0} >> (kMostKeys - count);
}

/// Returns the kernel for shape_at(kNumber), or null if there is none.
template <class Vectors, std::size_t kNumber>
Find kernel_for(Kernel kernel) {
  constexpr Shape kShape = shape_at(kNumber);
  using KeyWord = WordOf<kShape.key_bits>;
  using ValueWord = WordOf<kShape.value_bits>;
  if (kernel == Kernel::kHorizontal)
    return find_horizontally<Vectors, KeyWord, ValueWord, kShape.functions, kShape.slots>;
  if constexpr (Vectors::kGathers && kShape.slots == 1 && kShape.key_bits >= 32) {
    return kernel == Kernel::kVertical ? find_vertically<Vectors, KeyWord, ValueWord, kShape.functions, false>
                                       : find_vertically<Vectors, KeyWord, ValueWord, kShape.functions, true>;
  }
  return nullptr;
}

/// Returns the kernel for a shape number that is known only at run time.
template <class Vectors>
Find kernel_with(Kernel kernel, std::size_t number) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    static constexpr Find (*kFor[])(Kernel) = {
        kernel_for<Vectors, i>...};  // not a std::array, since its operator[] would be a shared function
    return kFor[number](kernel);
  }(std::make_index_sequence<kGrid>());
}

}  // namespace
}  // namespace latchlab::simdht
