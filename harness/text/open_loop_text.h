// What people see of an open loop.
#pragma once

#include <string>

#include "harness/result/call_times.h"

namespace latchlab {

/// What came, and how late threads were.
[[nodiscard]] std::string offer_text(const OfferedLoad& offer);

/// What a search came to.
[[nodiscard]] std::string slo_text(const Slo& slo, const SloSearch& search);
/// The same for the row of a run among others, behind what is there.
[[nodiscard]] std::string found_text(const Slo& slo, const SloSearch& search);

/// The response times for such a row, too.
[[nodiscard]] std::string response_text(const LatencySummary& response);

}  // namespace latchlab
