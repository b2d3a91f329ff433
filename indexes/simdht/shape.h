#pragma once
// The grid of SimdHT-Bench (IISWC 2019), as far as it can be told from what was published: shapes of a bucketized cuckoo table,
// widths of keys and values, and the kernels that look keys up. What a kernel is given is all that it shares with the table
// (table.h), since each kernel is compiled for instructions that the rest of the program must not contain.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "src/base/types.h"

namespace latchlab::simdht {

constexpr u32 kMostFunctions = 4;

/// Any key is in one of `functions` buckets, each of `slots` pairs.
struct Shape {
  u32 functions = 2, slots = 4;
  u32 key_bits = 64, value_bits = 64;

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

/// (functions, slots)
inline constexpr std::array<std::array<u32, 2>, 9> kShapes{
    {{2, 1}, {3, 1}, {4, 1}, {2, 2}, {2, 4}, {2, 7}, {2, 8}, {3, 2}, {3, 4}}};
/// (bits of a key, bits of a value)
inline constexpr std::array<std::array<u32, 2>, 3> kWidths{{{32, 32}, {32, 64}, {64, 64}}};

constexpr Shape shape_at(std::size_t i) {
  const auto& [functions, slots] = kShapes[i / kWidths.size()];
  const auto& [key_bits, value_bits] = kWidths[i % kWidths.size()];
  return {functions, slots, key_bits, value_bits};
}

/// Which instructions a kernel is made of.
enum class Isa : u8 { kScalar, kSse42, kAvx2, kAvx512 };
inline constexpr std::array<std::string_view, 4> kIsaNames{"scalar", "sse4.2", "avx2", "avx512"};

/// What the lanes of a vector are.
enum class Way : u8 {
  kHorizontal,   ///< the slots of one bucket, for one key
  kVertical,     ///< one key each, gathered from all of its buckets: buckets of one slot only
  kSelective,    ///< the same, but a bucket is asked for what the ones before did not have
};
inline constexpr std::array<std::string_view, 3> kWayNames{"horizontal", "vertical", "selective"};

/// A table as kernels see it: 2^n buckets of one shape, side by side, followed by kSlackBytes.
struct View {
  const std::byte* buckets = nullptr;
  u64 mask = 0;   ///< their number - 1
  u64 seeds[kMostFunctions]{};
};
constexpr std::size_t kSlackBytes = 64;   ///< a kernel may load beyond the last bucket

/// No bucket of up to a line lies in two.
template <class KeyWord, class ValueWord, u32 kSlots>
struct alignas(std::min(kLineBytes, std::bit_ceil(kSlots * (sizeof(KeyWord) + sizeof(ValueWord))))) BucketOf {
  KeyWord key[kSlots];
  ValueWord value[kSlots];
};
template <u32 kBits>
using WordOf = std::conditional_t<kBits == 32, u32, u64>;

/// The bucket of a key by one of the hash functions, or of each lane of a vector of keys: MurmurHash3's finalisers. `W` is
/// KeyWord, or wider. Always inlined: a copy of its own, compiled for AVX, could be the one that a linker keeps.
template <class KeyWord, class W>
[[gnu::always_inline]] constexpr W bucket_number(W key, KeyWord seed, W mask) {
  W x = key ^ seed;
  if constexpr (sizeof(KeyWord) == 8) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return (x ^ x >> 33) & mask;
  } else {
    x = (x ^ x >> 16) * 0x85ebca6bu & 0xffffffffu;
    x = (x ^ x >> 13) * 0xc2b2ae35u & 0xffffffffu;
    return (x ^ x >> 16) & mask;
  }
}

constexpr u32 kMostKeys = 64;   // of a call

/// Looks up `count` keys, 1 to kMostKeys: bit i of what it returns is set if keys[i] is there, and values[i] is its value
/// then, else anything. Keys have no bits that the shape has no room for.
using Find = u64 (*)(const View& view, const u64* keys, u32 count, u64* values);

/// Null where there is no such kernel: vertical ones are of AVX2 and AVX-512. Only for instructions that the processor has.
Find kernel_of(Isa isa, Way way, const Shape& shape);
// The same, of shape_at(shape): what is compiled for AVX compares no shapes, since it must share no function.
Find kernel_of_scalar(Way way, std::size_t shape);
Find kernel_of_sse42(Way way, std::size_t shape);
Find kernel_of_avx2(Way way, std::size_t shape);
Find kernel_of_avx512(Way way, std::size_t shape);

}  // namespace latchlab::simdht
