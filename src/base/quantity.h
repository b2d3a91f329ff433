#pragma once

// Numbers with a unit, as people write them: 16M, 64Ki, 1.5s.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

/// "1.5M" as a number and its unit.
struct Quantity {
  double value = 0;
  std::optional<u64> whole;  ///< exact where the number has no fraction
  std::string_view unit;
};

/// Empty where the text does not begin with a number.
[[nodiscard]] std::optional<Quantity> split_quantity(std::string_view text);

struct Unit {
  std::string_view name;
  u64 factor;
};

struct Scaled {
  u64 value = 0;
  bool fits = true;  ///< into 64 bits; without that the value means nothing
};

/// The quantity in its smallest unit; empty unless the unit exists and the result is whole.
[[nodiscard]] std::optional<Scaled> scale(const Quantity& quantity, std::span<const Unit> units);

/// "16M" is 16,000,000; k K M G T are decimal, Ki Mi Gi Ti binary. A fraction is fine if the result is whole: "1.5M".
/// Empty for anything else.
[[nodiscard]] std::optional<Scaled> count_of(std::string_view text);

/// What count_of reads back, with a unit where that is exact and the number has six digits or more: "1024", "16M",
/// "64Mi".
[[nodiscard]] std::string count_text(u64 count);

}  // namespace latchlab
