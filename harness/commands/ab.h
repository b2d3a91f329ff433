#pragma once

// `harness ab` runs an interleaved comparison. A machine drifts (clock, other programs, page placement), so variants
// that are measured one after the other differ even if they are equal. Here a block runs every variant once, in random
// order, each in a fresh process of this binary. Only ratios within a block are compared (comparison.h).

#include <functional>
#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/config/commands.h"
#include "harness/host/progress.h"

namespace latchlab {

/// Runs one replicate in a fresh process and returns its result. Forwards a stop request to that process.
[[nodiscard]] Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args);

/// A function that makes a replicate from the arguments of a run. Outside tests it is run_replicate() of this binary.
using RunReplicate = std::function<Replicate(const std::vector<std::string>& args)>;
/// Runs and summarizes the whole comparison.
[[nodiscard]] Comparison run_ab(const AbCommand& command, Progress& progress, const RunReplicate& run);

}  // namespace latchlab
