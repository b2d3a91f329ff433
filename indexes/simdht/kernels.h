#pragma once
// The kernels that look keys up in a table of the grid.
#include <array>
#include <cstddef>

#include "indexes/simdht/shape.h"
#include "src/base/words.h"

namespace latchlab {
namespace simdht {

/// The instructions that a kernel uses.
enum class Isa : u8 { kScalar, kSse42, kAvx2, kAvx512 };

/// The meaning of the lanes of a vector.
enum class Kernel : u8 {
  kHorizontal,  ///< the slots of one bucket, for one key
  /// One key in each lane, gathered from all of its buckets; needs buckets of one slot, and no keys of 16 bits.
  kVertical,
  kSelective,  ///< as kVertical, but a bucket is read only for keys that the buckets before it lack
};

}  // namespace simdht

template <>
inline constexpr std::array kWords<simdht::Isa>{"scalar"sv, "sse4.2"sv, "avx2"sv, "avx512"sv};
template <>
inline constexpr std::array kWords<simdht::Kernel>{"horizontal"sv, "vertical"sv, "selective"sv};

namespace simdht {

/// A table as kernels see it: 2^n buckets of one shape, side by side. Kernels read nothing beyond them.
struct View {
  const std::byte* buckets = nullptr;
  u64 mask = 0;  ///< number of buckets - 1
  u64 seeds[kMostFunctions]{};
};

constexpr u32 kMostKeys = 64;  // maximal number of keys in a call

/// A kernel, which looks up `count` keys, 1 to kMostKeys. Bit i of its result is set if keys[i] is present. Then
/// values[i] is the key's value; otherwise values[i] is undefined. Keys must fit into the shape's key bits.
using Find = u64 (*)(const View& view, const u64* keys, u32 count, u64* values);

/// Returns the kernel for a shape of the grid, or null if there is none: vertical and selective kernels need AVX2 or
/// AVX-512. The processor must have the instructions of `isa`.
Find kernel_of(Isa isa, Kernel kernel, const Shape& shape);
// Return the kernel for shape_at(shape). They take a number, since code compiled for AVX must share no function and so
// compares no shapes.
Find kernel_of_scalar(Kernel kernel, std::size_t shape);
Find kernel_of_sse42(Kernel kernel, std::size_t shape);
Find kernel_of_avx2(Kernel kernel, std::size_t shape);
Find kernel_of_avx512(Kernel kernel, std::size_t shape);

}  // namespace simdht
}  // namespace latchlab
