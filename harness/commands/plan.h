#pragma once

// `--topology=MACHINE`: plans where the threads and the index's memory of each run would be on another machine, by the
// rules of a run there. Nothing runs.

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/host/topology.h"

namespace latchlab {

/// Returns a block of lines for each run: a line for each cluster that has threads, and one for the memory.
[[nodiscard]] std::string plan_text(const std::vector<Plan>& runs, const Topology& topology);

}  // namespace latchlab
