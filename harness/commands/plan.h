#pragma once

// Shows what runs would do, without running any:
//   --topology=MACHINE   where threads and memory would be on another machine, by the rules of a run there
//   --dry-run            the command line of each run, and about how long all of them take

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/host/topology.h"

namespace latchlab {

/// Returns a block of lines for each run: a line for each cluster that has threads, and one for the memory.
[[nodiscard]] std::string plan_text(const std::vector<Plan>& runs, const Topology& topology);

struct DryRun {
  std::string lines;    ///< the command line of each run that is not skipped, as a shell reads it
  std::string remarks;  ///< a line for each run that is skipped, with the reason, and one for their number and time
};
/// Lists the runs by their Plan::words. `program` is the first word of each line.
[[nodiscard]] DryRun dry_run(const RunCommand& command, const std::string& program);

}  // namespace latchlab
