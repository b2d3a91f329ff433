#pragma once

// Numbers as people read them, in tables, notes and messages.

#include <string>

#include <fmt/format.h>

#include "harness/config/or_reason.h"
#include "src/base/types.h"

namespace latchlab {

/// Returns a rate or a count with three significant digits: "1.25 G", "12.3 M", "4.56 k", "789".
[[nodiscard]] std::string short_number(double value);

/// Returns a duration with a unit that fits it: "1 h 02 min", "3 min 20 s", "12 s", "1.2 s", "350 ms".
[[nodiscard]] std::string short_duration(double seconds);

/// Returns the number with this many decimals, or "-" if it was not measured.
template <class T>
[[nodiscard]] std::string number_text(const OrReason<T>& measured, int decimals) {
  return measured ? fmt::format("{:.{}f}", static_cast<double>(*measured), decimals) : "-";
}

/// Returns a page size: "4K", "2M", or "?" if it was not measured.
[[nodiscard]] std::string page_text(const OrReason<u64>& page_bytes);

/// Returns a share as a percentage: "99.8 %". A share of a few per million does not round to zero.
[[nodiscard]] std::string percent(double share);

/// Returns the number with its digits in groups: "16,000,000".
[[nodiscard]] std::string grouped(u64 value);

/// Returns three significant digits, or all digits before the point if there are more: "0.0125", "12,345".
[[nodiscard]] std::string three_digits(double value);

}  // namespace latchlab
