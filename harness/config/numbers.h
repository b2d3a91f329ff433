#pragma once

// Numbers as people read them, in tables, notes and messages.

#include <string>

#include <fmt/format.h>

#include "harness/config/or_reason.h"
#include "src/base/types.h"

namespace latchlab {

/// "1.25 G", "12.3 M", "4.56 k", "789": three significant digits, as rates and counts are shown to people.
[[nodiscard]] std::string short_number(double value);

/// "1 h 02 min", "3 min 20 s", "12 s", "1.2 s", "350 ms".
[[nodiscard]] std::string short_duration(double seconds);

/// A number with so many decimals, or "-".
template <class T>
[[nodiscard]] std::string number_text(const OrReason<T>& measured, int decimals) {
  return measured ? fmt::format("{:.{}f}", static_cast<double>(*measured), decimals) : "-";
}

/// "4K", "2M", or "?" where nobody looked.
[[nodiscard]] std::string page_text(const OrReason<u64>& page_bytes);

/// "99.8 %"; rates of a few per million do not look like none.
[[nodiscard]] std::string percent(double share);

/// "16,000,000"
[[nodiscard]] std::string grouped(u64 value);

/// Three digits, or all of a number that has more before the point: "0.0125", "12,345".
[[nodiscard]] std::string three_digits(double value);

}  // namespace latchlab
