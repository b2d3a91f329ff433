#pragma once

// The part of `harness explain` about modelled results: where virtual time went, and the lines that threads waited for
// each other on.

#include <string>

#include "harness/result/result.h"

namespace latchlab {

/// Returns the table of causes, the largest share first, and the aborts by cause and by structure. Empty if the result
/// does not say.
[[nodiscard]] std::string virtual_time_text(const TrialResult& trial);

/// Returns the table of the hottest lines. Throws InputError if the result does not say.
[[nodiscard]] std::string hot_lines_text(const TrialResult& trial);

}  // namespace latchlab
