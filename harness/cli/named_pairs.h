#pragma once

// The pairs of index and policy that a command line names. Scripts ask for them before anything is built or run.

#include <string>
#include <vector>

#include "harness/config/registry.h"

namespace latchlab {

/// Returns "index:policy" for each pair of a run or of `harness ab` that this build lacks, each once; nothing for other
/// commands. If the command line is wrong, returns the pairs found before the error, which the command itself then
/// reports. `args` are those of parse_command_line().
[[nodiscard]] std::vector<std::string> missing_pairs(const std::vector<std::string>& args, const Registry& registry);

/// A point of the product of all lists among the options of runs.
struct NamedPoint {
  std::string pair;                ///< "index:policy"
  std::vector<std::string> words;  ///< the options of this run alone, in the order given
};

/// Returns the points that the options of runs name; the last option changes fastest. Nothing is planned, so the build
/// may lack the pairs. Throws InputError for what is no option, no list or no value of its option, for an index or a
/// policy that does not exist, and for more than 100,000 points.
[[nodiscard]] std::vector<NamedPoint> named_points(const std::vector<std::string>& args, const Registry& registry);

}  // namespace latchlab
