#pragma once

// `harness rows RESULT`: prints the rows of a result (rows.h) in the columns in which Wiscer prints its batches.

#include <string>

namespace latchlab {

/// Returns the text that `harness rows` prints: a result's rows in Wiscer's columns, followed by the phase's name if
/// rows have names. A number that was not measured is `-`, and a line below says why. A path "-" is standard input.
/// Throws InputError for a file that is no result, or has no rows.
[[nodiscard]] std::string rows_text(const std::string& path);

}  // namespace latchlab
