#pragma once
// What the events of the measured phase come to: sums over the threads, each scaled by its own times, and where an
// event is missing on one of them, why, and what to change.

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

/// `threads` and `packages`: of each its PmuGroups::counts(). `operations` were done.
[[nodiscard]] PmuResult pmu_account(const std::vector<PmuEvent>& events,
                                    const std::vector<std::vector<PmuCount>>& threads,
                                    const std::vector<std::vector<PmuCount>>& packages, u64 operations,
                                    const Root& root = {});

}  // namespace latchlab
