#pragma once
// Reductions: one number of a vector.
//
//     function   result                          of no elements
//     sum        the sum                         0
//     min, max   the least, the greatest         the greatest and the least number of the type; inf and -inf for floats
//     and, or    of all bits; integers only      all bits set; 0
//     count      the elements that are not zero  0
//
// The result is a wide number: i64 for i32 and i64, u64 for u32 and u64, f64 for f32 and f64; a count is u64.
//   1. A sum of integers wraps at 64 bits. So a sum of fewer than 2^31 elements of 32 bits is exact.
//   2. A sum of floats is of f64, and its order is the kernel's. While no partial sum overflows, it differs from the
//      exact sum by at most n * 2^-53 * (the sum of |element|), for n elements up to 2^26: the bound of any order.
//   3. min and max leave NaN elements out. Of two zeros they may return either.
//   4. A NaN is not zero, and counts.
#include <cstddef>

#include "src/base/types.h"
#include "src/base/words.h"
#include "src/vector/element.h"
#include "src/vector/kernel.h"

namespace latchlab::vectors {

enum class Reduction : u8 { kSum, kMin, kMax, kAnd, kOr, kCount };

struct Reduced {
  Status status;
  Number number;  ///< if status is kDone
};

/// Returns the number, or kUnsuited (and, or of floats) or kRagged. O(size). The processor must have the kernel. Not to
/// be called inside a hardware transaction.
[[nodiscard]] Reduced reduce(Element element, Reduction reduction, Bytes bytes, Kernel kernel = best_kernel());

}  // namespace latchlab::vectors

namespace latchlab {
template <>
inline constexpr std::array kWords<vectors::Reduction>{"sum"sv, "min"sv, "max"sv, "and"sv, "or"sv, "count"sv};
}
