// The texts about an open loop that people see.
#pragma once

#include <string>

#include "harness/result/call_times.h"

namespace latchlab {

/// Returns the rate of arrivals, and how late threads were.
[[nodiscard]] std::string offer_text(const OfferedLoad& offer);

/// Returns the outcome of a search for the block of a run.
[[nodiscard]] std::string slo_text(const Slo& slo, const SloSearch& search);
/// Returns the outcome of a search for the row of a table, to be appended there.
[[nodiscard]] std::string found_text(const Slo& slo, const SloSearch& search);

/// Returns the response times for the row of a table, to be appended there.
[[nodiscard]] std::string response_text(const LatencySummary& response);

}  // namespace latchlab
