#pragma once

// Parsers for the command lines other than a run's. They get the words behind the command's name.

#include <string>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/cli/options.h"

namespace latchlab {

/// Parses the options of a run, also for the variants of a comparison (cli.cc).
[[nodiscard]] RunCommand parse_run(const std::vector<std::string>& args, const Surroundings& surroundings);

/// Returns the row of an option of `harness ab`. Throws InputError for one that it does not have.
[[nodiscard]] const OptionEntry& ab_option(const std::string& name);
[[nodiscard]] AbCommand parse_ab(const std::vector<std::string>& args, const Surroundings& surroundings);
[[nodiscard]] CompareCommand parse_compare(const std::vector<std::string>& args);
[[nodiscard]] LimitsCommand parse_limits(const std::vector<std::string>& args, const Surroundings& surroundings);
[[nodiscard]] TraceCommand parse_trace(const std::vector<std::string>& args);

}  // namespace latchlab
