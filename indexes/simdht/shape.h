#pragma once
// The grid of SimdHT-Bench (IISWC 2019), as far as publications describe it: shapes of a bucketized cuckoo table, and
// widths of keys and values.
#include <array>
#include <cstddef>

#include "src/base/types.h"

namespace latchlab::simdht {

constexpr u32 kMostFunctions = 4;

/// A shape: a key is in one of `functions` buckets, each with `slots` pairs.
struct Shape {
  u32 functions = 2, slots = 4;
  u32 key_bits = 64, value_bits = 64;

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

/// The shapes of the grid: (functions, slots).
inline constexpr std::array<std::array<u32, 2>, 9> kShapes{
    {{2, 1}, {3, 1}, {4, 1}, {2, 2}, {2, 4}, {2, 7}, {2, 8}, {3, 2}, {3, 4}}};
/// The widths of the grid: (bits of a key, bits of a value).
inline constexpr std::array<std::array<u32, 2>, 4> kWidths{{{16, 32}, {32, 32}, {32, 64}, {64, 64}}};
/// Number of combinations of a shape and a width. Smaller numbers name them.
constexpr std::size_t kGrid = kShapes.size() * kWidths.size();

constexpr Shape shape_at(std::size_t number) {
  const auto& [functions, slots] = kShapes[number / kWidths.size()];
  const auto& [key_bits, value_bits] = kWidths[number % kWidths.size()];
  return {functions, slots, key_bits, value_bits};
}

/// Returns the number of a shape of the grid, so that shape_at(number_of(shape)) == shape.
constexpr std::size_t number_of(const Shape& shape) {
  std::size_t number = 0;
  while (shape_at(number) != shape) ++number;
  return number;
}

}  // namespace latchlab::simdht
