#pragma once
// The kernels, for whoever includes this: a struct Vectors says what his instructions do. All of it has internal linkage and calls
// nothing that has not: what several kernels_*.cc shared would be compiled in each of them, and the linker would keep one,
// perhaps that of a processor which this one is not.
#include <utility>

#include "indexes/simdht/shape.h"

namespace latchlab::simdht {
namespace {

/// A bucket after the other, for those that the buckets before did not have. Lines are asked for together. In the first
/// round nothing is decided by what was found, so that nothing is mispredicted.
template <class Vectors, class KeyWord, class ValueWord, u32 kFunctions, u32 kSlots>
u64 find_horizontally(const View& view, const u64* keys, u32 count, u64* values) {
  using Bucket = BucketOf<KeyWord, ValueWord, kSlots>;
  const auto* const buckets = reinterpret_cast<const Bucket*>(view.buckets);
  const Bucket* at[kMostKeys];
  const auto go = [&](u32 i, u32 function) __attribute__((always_inline)) {
    const auto key = static_cast<KeyWord>(keys[i]), seed = static_cast<KeyWord>(view.seeds[function]);
    at[i] = &buckets[bucket_number<KeyWord, KeyWord>(key, seed, static_cast<KeyWord>(view.mask))];
    __builtin_prefetch(at[i]);
  };
  u64 found = 0;
  const auto look = [&](u32 i) __attribute__((always_inline)) {
    const u32 equal = Vectors::template equal<KeyWord, kSlots>(at[i]->key, static_cast<KeyWord>(keys[i]));
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

/// As many keys at once as there are lanes: 32 bits each, if keys and values have no more. Then a pair is gathered as one word of
/// 64, else the values of those keys that are equal in a second gather.
template <class Vectors, class KeyWord, class ValueWord, u32 kFunctions, bool kSelects>
u64 find_vertically(const View& view, const u64* keys, u32 count, u64* values) {
  using Bucket = BucketOf<KeyWord, ValueWord, 1>;
  using Word = std::conditional_t<sizeof(Bucket) == 8, u32, u64>;
  using Lanes = typename Vectors::template Lanes<Word>;
  using Mask = typename Vectors::template Mask<Word>;
  constexpr u32 kLanes = sizeof(Lanes) / sizeof(Word);
  u64 found = 0;
  for (u32 first = 0; first < count; first += kLanes) {
    alignas(sizeof(Lanes)) Word words[kLanes] = {};
    const u32 here = count - first < kLanes ? count - first : kLanes;
    if (here == kLanes) {
      for (u32 i = 0; i < kLanes; ++i) words[i] = static_cast<Word>(keys[first + i]);
    } else {
      for (u32 i = 0; i < here; ++i) words[i] = static_cast<Word>(keys[first + i]);
    }
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
    if (here == kLanes) {
      for (u32 i = 0; i < kLanes; ++i) values[first + i] = words[i];
    } else {
      for (u32 i = 0; i < here; ++i) values[first + i] = words[i];
    }
    found |= static_cast<u64>(~Vectors::template bits<Word>(rest) & ((u64{1} << kLanes) - 1)) << first;
  }
  Vectors::end();
  return found & ~u64{0} >> (kMostKeys - count);
}

template <class Vectors, std::size_t kShape, std::size_t kWidth>
constexpr Find kernel_for(Way way) {
  constexpr u32 kFunctions = kShapes[kShape][0], kSlots = kShapes[kShape][1];
  using KeyWord = WordOf<kWidths[kWidth][0]>;
  using ValueWord = WordOf<kWidths[kWidth][1]>;
  if (way == Way::kHorizontal) return find_horizontally<Vectors, KeyWord, ValueWord, kFunctions, kSlots>;
  if constexpr (Vectors::kGathers && kSlots == 1) {
    return way == Way::kVertical ? find_vertically<Vectors, KeyWord, ValueWord, kFunctions, false>
                                 : find_vertically<Vectors, KeyWord, ValueWord, kFunctions, true>;
  }
  return nullptr;
}

/// Of shape_at(wanted). Null where there is none.
template <class Vectors>
Find kernel_with(Way way, std::size_t wanted) {
  Find out = nullptr;
  const auto choose = [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((wanted == i ? void(out = kernel_for<Vectors, i / kWidths.size(), i % kWidths.size()>(way)) : void()), ...);
  };
  choose(std::make_index_sequence<kShapes.size() * kWidths.size()>());
  return out;
}

}  // namespace
}  // namespace latchlab::simdht
