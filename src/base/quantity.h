#pragma once

// Numbers with a unit, in the form that people write: 16M, 64Ki, 1.5s.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

/// A number and its unit, such as "1.5M".
struct Quantity {
  double value = 0;
  std::optional<u64> whole;  ///< the exact number, if it has no fraction
  std::string_view unit;
};

/// Splits a text into its leading number and the unit that follows; empty if the text does not begin with a number.
[[nodiscard]] std::optional<Quantity> split_quantity(std::string_view text);

struct Unit {
  std::string_view name;
  u64 factor;
};

struct Scaled {
  u64 value = 0;
  bool fits = true;  ///< the value fits into 64 bits; if not, it means nothing
};

/// Returns the quantity in its smallest unit; empty unless the unit exists and the result is whole.
[[nodiscard]] std::optional<Scaled> scale(const Quantity& quantity, std::span<const Unit> units);

/// Returns the count that the text stands for: "16M" is 16,000,000. k K M G T are decimal, Ki Mi Gi Ti binary. A
/// fraction is allowed if the result is whole: "1.5M". Empty for anything else.
[[nodiscard]] std::optional<Scaled> count_of(std::string_view text);

/// Returns a text that count_of reads back. It has a unit if the number has six digits or more and the unit is exact:
/// "1024", "16M", "64Mi".
[[nodiscard]] std::string count_text(u64 count);

}  // namespace latchlab
