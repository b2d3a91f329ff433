// `harness check FILE`: says whether a recorded history is linearizable (src/history/history_file.h has the format).
#pragma once

#include <string>

#include "harness/config/commands.h"
#include "src/history/check_history.h"

namespace latchlab {

/// Returns the text of a verdict: a line, and few calls that conflict if there are any.
[[nodiscard]] std::string verdict_text(const HistoryVerdict& verdict);

/// Returns 0 for linearizable, 1 for not, and 3 if the check cannot tell.
[[nodiscard]] int exit_status(const HistoryVerdict& verdict);

/// Prints the verdict and returns the exit status. Throws InputError for a file that is no history or is damaged.
[[nodiscard]] int run_check(const CheckCommand& command);

}  // namespace latchlab
