#include "src/base/quantity.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "src/base/spec.h"

namespace latchlab {

namespace {

constexpr Unit kCountUnits[] = {
    {"", 1},
    {"k", 1'000},
    {"K", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
    {"Ki", u64{1} << 10},
    {"Mi", u64{1} << 20},
    {"Gi", u64{1} << 30},
    {"Ti", u64{1} << 40},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<Quantity> split_quantity(std::string_view text) {
  const std::size_t end =
      std::find_if(text.begin(), text.end(), [](char c) { return !is_digit(c) && c != '.'; }) - text.begin();
  const std::string_view number = text.substr(0, end);
  std::optional<double> value = parse_double(number);
  // Digits alone are a number, even if there are too many for a double.
  if (!value && !number.empty() && std::all_of(number.begin(), number.end(), is_digit)) value = HUGE_VAL;
  if (!value) return std::nullopt;
  return Quantity{.value = *value, .whole = parse_u64(number), .unit = text.substr(end)};
}

std::optional<Scaled> scale(const Quantity& quantity, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (unit.name != quantity.unit) continue;
    Scaled scaled;
    if (quantity.whole) {
      scaled.fits = !__builtin_mul_overflow(*quantity.whole, unit.factor, &scaled.value);
      return scaled;
    }
    const double product = quantity.value * static_cast<double>(unit.factor);
    if (product >= 0x1p64) return Scaled{.fits = false};
    if (product >= 0x1p49) return std::nullopt;  // from here on the tolerance below would hide a fraction
    const double rounded = std::round(product);
    // A double does not hold 1.1 exactly, so a product within the rounding error of a whole number counts as whole.
    if (std::abs(product - rounded) > 4 * std::numeric_limits<double>::epsilon() * product) return std::nullopt;
    scaled.value = static_cast<u64>(rounded);
    return scaled;
  }
  return std::nullopt;
}

std::optional<Scaled> count_of(std::string_view text) {
  const std::optional<Quantity> quantity = split_quantity(text);
  return quantity ? scale(*quantity, kCountUnits) : std::nullopt;
}

std::string count_text(u64 count) {
  std::string shortest = fmt::format("{}", count);
  if (count < 100'000) return shortest;
  for (const Unit& unit : kCountUnits) {
    if (count % unit.factor != 0) continue;
    std::string text = fmt::format("{}{}", count / unit.factor, unit.name);
    if (text.size() < shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

}  // namespace latchlab
