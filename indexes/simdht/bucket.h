#pragma once
// The layout of a bucket, and the hash functions that choose a key's buckets. The kernels share this with the table
// (table.h). Each kernel is compiled for instructions that the rest of the program must not contain.
#include <algorithm>
#include <bit>
#include <type_traits>

#include "src/base/types.h"

namespace latchlab::simdht {

/// A bucket, aligned so that no bucket of up to a line crosses a line.
template <class KeyWord, class ValueWord, u32 kSlots>
struct alignas(std::min(kLineBytes, std::bit_ceil(kSlots * (sizeof(KeyWord) + sizeof(ValueWord))))) BucketOf {
  KeyWord key[kSlots];
  ValueWord value[kSlots];
};

template <u32 kBits>
using WordOf = std::conditional_t<kBits == 16, u16, std::conditional_t<kBits == 32, u32, u64>>;

/// The type of hashes and bucket numbers. It is wider than keys of 16 bits. With seeds of 16 bits, keys k and k ^ seed
/// ^ other seed would share both of their buckets. Both keys may well be present.
template <class KeyWord>
using HashOf = std::conditional_t<sizeof(KeyWord) == 8, u64, u32>;

/// Returns the bucket of a key by one of the hash functions, or of each lane of a vector of keys. The functions are
/// MurmurHash3's finalisers. `W` is Hash, or wider. Always inlined: otherwise the linker could keep a copy that was
/// compiled for AVX.
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
