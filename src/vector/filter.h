#pragma once
// Filters: the elements of a vector that compare with an operand, as their values or as a bitmap.
//
//     lt  element < operand     le  <=     eq  ==     ne  !=     ge  >=     gt  >
//
// Floats compare as IEEE 754 says: a NaN only by ne, and the two zeros are equal.
//
//     vector     3 9 1 7
//     gt 2       matches: 3 9 7     bitmap: bits 0, 1 and 3 of byte 0
#include <cstddef>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/vector/element.h"
#include "src/vector/kernel.h"

namespace latchlab::vectors {

enum class Comparison : u8 { kLt, kLe, kEq, kNe, kGe, kGt };

/// The elements are of the operand's type.
struct Filter {
  Comparison comparison;
  Number operand;
};

struct Filtered {
  Status status;
  std::size_t matches = 0;  ///< the number of elements that match, if status is kDone
};

/// Returns the bytes of the bitmap of a vector of `bytes` bytes: a bit for each element.
[[nodiscard]] constexpr std::size_t bitmap_bytes(Element element, std::size_t bytes) {
  return (bytes / size_of(element) + 7) / 8;
}

// Both return kRagged, or kTooLittleRoom if `out` is too small; `out` is unchanged then. It must not overlap the
// vector. O(size). The processor must have the kernel. Not to be called inside a hardware transaction.

/// Sets bit i % 8 of out[i / 8] to whether element i matches. Bits behind the last element are 0. `out` must have
/// bitmap_bytes; what lies behind them stays.
[[nodiscard]] Filtered filter_bitmap(const Filter& filter, Bytes bytes, MutableBytes out,
                                     Kernel kernel = best_kernel());
/// Puts the matching elements into `out`, in their order, one behind the other. `out` must have room for all elements;
/// what lies behind the matches is unspecified.
[[nodiscard]] Filtered filter_matches(const Filter& filter, Bytes bytes, MutableBytes out,
                                      Kernel kernel = best_kernel());

}  // namespace latchlab::vectors

namespace latchlab {
template <>
inline constexpr std::array kWords<vectors::Comparison>{"lt"sv, "le"sv, "eq"sv, "ne"sv, "ge"sv, "gt"sv};
}
