#pragma once

// `harness explain`: what a result says, in plain words: what an operation cost, where that time went as far as it was
// measured, and what to try. It only reads the document, so it can be asked of results of other machines.

#include <string>

#include "harness/result/report.h"

namespace latchlab {

/// Dearest first. `base`: a result of the same run under another policy, or null. Throws InputError where the two
/// differ in more than that.
[[nodiscard]] std::string explained(const Json& result, const Json& base);

/// All results of a file, beside the one of the other file unless its path is empty.
[[nodiscard]] std::string explain(const std::string& path, const std::string& base_path);

}  // namespace latchlab
