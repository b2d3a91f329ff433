#pragma once

// `harness explain`: explains a result in plain words. It says what an operation cost, where that time went as far as
// it was measured, and what to try. It only reads the document, so results of other machines can be explained too.

#include <string>

#include "harness/result/report.h"

namespace latchlab {

/// Returns the explanation, the most expensive observation first. `base` is a result of the same run under another
/// policy, or null. Throws InputError if the two differ in more than the policy.
[[nodiscard]] std::string explained(const Json& result, const Json& base);

/// Returns the lines that the threads of a modelled run waited for each other on. Throws InputError if the result does
/// not say.
[[nodiscard]] std::string explained_lines(const Json& result);

/// Explains all results of a file, compared with the one in the file `base_path` unless that is empty; or, with
/// `hot_lines`, only the hot lines of each.
[[nodiscard]] std::string explain(const std::string& path, const std::string& base_path, bool hot_lines);

}  // namespace latchlab
