#pragma once

// `harness ab`: an interleaved comparison. A machine drifts (clocks, neighbours, page placement), so variants
// that are measured one after the other differ even if they are equal. Here a block runs every variant once,
// in random order, each in a fresh process of this binary, and only ratios within a block are compared
// (comparison.h).

#include <functional>
#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/config/commands.h"
#include "harness/host/progress.h"

namespace latchlab {

/// Runs one replicate in a fresh process; forwards a stop request to it.
[[nodiscard]] Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args);

/// Runs and summarizes the whole comparison. `run` makes a replicate of a run's arguments; mostly this binary does.
using RunReplicate = std::function<Replicate(const std::vector<std::string>& args)>;
[[nodiscard]] Comparison run_ab(const AbCommand& command, Progress& progress, const RunReplicate& run);

}  // namespace latchlab
