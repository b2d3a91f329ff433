#pragma once

// The command lines that are no run, behind their first word.

#include <string>
#include <vector>

#include "harness/cli/cli.h"

namespace latchlab {

/// Those of a run (cli.cc), of which variants of a comparison are made.
[[nodiscard]] RunCommand parse_run(const std::vector<std::string>& args, const Surroundings& surroundings);

[[nodiscard]] AbCommand parse_ab(const std::vector<std::string>& args, const Surroundings& surroundings);
[[nodiscard]] CompareCommand parse_compare(const std::vector<std::string>& args);
[[nodiscard]] LimitsCommand parse_limits(const std::vector<std::string>& args, const Surroundings& surroundings);
[[nodiscard]] TraceCommand parse_trace(const std::vector<std::string>& args);

}  // namespace latchlab
