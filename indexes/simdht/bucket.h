#pragma once
// What kernels share with the table (table.h), since each kernel is compiled for instructions that the rest of the
// program must not contain: how a bucket lies in memory, and in which buckets a key may be.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "src/base/types.h"

namespace latchlab::simdht {

/// No bucket of up to a line lies in two.
template <class KeyWord, class ValueWord, u32 kSlots>
struct alignas(std::min(kLineBytes, std::bit_ceil(kSlots * (sizeof(KeyWord) + sizeof(ValueWord))))) BucketOf {
  KeyWord key[kSlots];
  ValueWord value[kSlots];
};

template <u32 kBits>
using WordOf = std::conditional_t<kBits == 16, u16, std::conditional_t<kBits == 32, u32, u64>>;

/// A hash of a KeyWord, and the number of a bucket. Wider than keys of 16 bits: with seeds of 16 bits keys k and
/// k ^ seed ^ other seed would share both of their buckets, and both may well be there.
template <class KeyWord>
using HashOf = std::conditional_t<sizeof(KeyWord) == 8, u64, u32>;

/// The bucket of a key by one of the hash functions, or of each lane of a vector of keys: MurmurHash3's finalisers. `W`
/// is Hash, or wider. Always inlined: a copy of its own, compiled for AVX, could be the one that a linker keeps.
template <class Hash, class W>
[[gnu::always_inline]] constexpr W bucket_number(W key, Hash seed, W mask) {
  W x = key ^ seed;
  if constexpr (sizeof(Hash) == 8) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return (x ^ x >> 33) & mask;
  } else {
    x = (x ^ x >> 16) * 0x85ebca6bu & 0xffffffffu;
    x = (x ^ x >> 13) * 0xc2b2ae35u & 0xffffffffu;
    return (x ^ x >> 16) & mask;
  }
}

}  // namespace latchlab::simdht
