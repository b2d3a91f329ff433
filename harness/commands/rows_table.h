#pragma once

// `harness rows RESULT`: the rows of a result (rows.h) for people, in the columns in which Wiscer prints its batches.

#include <string>

namespace latchlab {

/// What `harness rows` prints: a result's rows in Wiscer's columns, and behind them the phase's name where rows have
/// names; `-` for what was not measured, with a line below that says why. "-" is standard input. Throws InputError for
/// what is no result, or has no rows.
[[nodiscard]] std::string rows_text(const std::string& path);

}  // namespace latchlab
