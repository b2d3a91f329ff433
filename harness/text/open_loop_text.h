// What people see of an open loop.
#pragma once

#include <string>

#include "harness/result/report.h"

namespace latchlab {

/// What came, and how late threads were.
[[nodiscard]] std::string offer_text(const Offer& offer);

/// What a search came to.
[[nodiscard]] std::string slo_text(const Slo& slo, const SloSearch& search);
/// The same for the row of a run among others, behind what is there; empty without a search.
[[nodiscard]] std::string found_text(const Json& document);

/// For such a row, too; empty of a closed loop.
[[nodiscard]] std::string response_text(const Json& document);

}  // namespace latchlab
