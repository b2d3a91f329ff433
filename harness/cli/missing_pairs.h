#pragma once

// The pairs of index and policy that a command line names and this build lacks: ./bench builds them before it runs the
// command.

#include <string>
#include <vector>

#include "harness/config/registry.h"

namespace latchlab {

/// Returns "index:policy" for each missing pair of a run or of `harness ab`, each once; nothing for other commands. If
/// the command line is wrong, returns the pairs found before the error, which the command itself then reports. `args`
/// are those of parse_command_line().
[[nodiscard]] std::vector<std::string> missing_pairs(const std::vector<std::string>& args, const Registry& registry);

}  // namespace latchlab
