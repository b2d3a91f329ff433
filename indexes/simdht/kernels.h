#pragma once
// The kernels that look keys up in a table of the grid.
#include <array>
#include <cstddef>

#include "indexes/simdht/shape.h"
#include "src/base/words.h"

namespace latchlab {
namespace simdht {

/// Which instructions a kernel is made of.
enum class Isa : u8 { kScalar, kSse42, kAvx2, kAvx512 };

/// What the lanes of a vector are.
enum class Kernel : u8 {
  kHorizontal,  ///< the slots of one bucket, for one key
  kVertical,    ///< one key each, gathered from all of its buckets: buckets of one slot, and no keys of 16 bits
  kSelective,   ///< the same, but a bucket is asked for what the ones before did not have
};

}  // namespace simdht

template <>
inline constexpr std::array kWords<simdht::Isa>{"scalar"sv, "sse4.2"sv, "avx2"sv, "avx512"sv};
template <>
inline constexpr std::array kWords<simdht::Kernel>{"horizontal"sv, "vertical"sv, "selective"sv};

namespace simdht {

/// A table as kernels see it: 2^n buckets of one shape, side by side. Nothing beyond them is read.
struct View {
  const std::byte* buckets = nullptr;
  u64 mask = 0;  ///< their number - 1
  u64 seeds[kMostFunctions]{};
};

constexpr u32 kMostKeys = 64;  // of a call

/// Looks up `count` keys, 1 to kMostKeys: bit i of what it returns is set if keys[i] is there, and values[i] is its
/// value then, else anything. Keys have no bits that the shape has no room for.
using Find = u64 (*)(const View& view, const u64* keys, u32 count, u64* values);

/// For a shape of the grid. Null where there is no such kernel: vertical ones are of AVX2 and AVX-512. Only for
/// instructions that the processor has.
Find kernel_of(Isa isa, Kernel kernel, const Shape& shape);
// The same, of shape_at(shape): what is compiled for AVX compares no shapes, since it must share no function.
Find kernel_of_scalar(Kernel kernel, std::size_t shape);
Find kernel_of_sse42(Kernel kernel, std::size_t shape);
Find kernel_of_avx2(Kernel kernel, std::size_t shape);
Find kernel_of_avx512(Kernel kernel, std::size_t shape);

}  // namespace simdht
}  // namespace latchlab
