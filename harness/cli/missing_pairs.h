#pragma once

// The pairs of index and policy that a command line names and this build lacks: ./bench builds them before it runs the
// command.

#include <string>
#include <vector>

#include "harness/config/registry.h"

namespace latchlab {

/// Returns "index:policy", each once, for a run or a comparison of runs; nothing for other commands. A command line
/// that is wrong names as many as are read before that is seen: the command itself says what is wrong. `args` are those
/// of parse_command_line().
[[nodiscard]] std::vector<std::string> missing_pairs(const std::vector<std::string>& args, const Registry& registry);

}  // namespace latchlab
