#pragma once
// The account of PMU events in the measured phase: sums over the threads, each scaled by the thread's own times. If an
// event is missing on a thread, the account says why, and what to change.

#include <memory>
#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/pmu_groups.h"
#include "harness/host/topology.h"
#include "harness/result/result.h"
#include "src/base/types.h"

namespace latchlab {

/// Returns the events' counts and ratios. `threads` and `packages` have the PmuGroups::counts() of each thread and
/// package; `operations` were done.
[[nodiscard]] PmuResult pmu_account(const std::vector<PmuEvent>& events,
                                    const std::vector<std::vector<PmuCount>>& threads,
                                    const std::vector<std::vector<PmuCount>>& packages, u64 operations,
                                    const Root& root = {});

}  // namespace latchlab
