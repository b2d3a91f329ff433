#include "harness/config/numbers.h"

#include <cmath>

namespace latchlab {

std::string percent(double share) {
  const double p = share * 100;
  if (p == 0 || p >= 0.1) return fmt::format("{:.1f} %", p);
  return fmt::format("{:.2g} %", p);
}

std::string grouped(u64 value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string three_digits(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : grouped(static_cast<u64>(value + .5));
}

std::string page_text(const OrReason<u64>& page_bytes) {
  if (!page_bytes) return "?";
  return *page_bytes >= 1 << 20 ? fmt::format("{}M", *page_bytes >> 20) : fmt::format("{}K", *page_bytes >> 10);
}

std::string short_number(double value) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  if (!std::isfinite(value)) return "-";
  int unit = 0;
  // 999.5 would print as 1000, so go on to the next unit from there on.
  while (std::abs(value) >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  const int decimals = std::abs(value) >= 99.95 || (unit == 0 && value == std::floor(value)) ? 0
                       : std::abs(value) >= 9.995                                            ? 1
                                                                                             : 2;
  return fmt::format("{:.{}f}{}", value, decimals, kUnits[unit]);
}

std::string short_duration(double seconds) {
  if (seconds < 9.9995e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 0.99995e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 9.95e-3) return fmt::format("{:.1f} ms", seconds * 1000);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const u64 whole = static_cast<u64>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace latchlab
