#pragma once
// What the events of the measured phase come to: sums over the threads, each scaled by its own times, and where an event is
// missing on one of them, why, and what to change.

#include <memory>
#include <string>
#include <vector>

#include "harness/environment.h"
#include "harness/placement.h"
#include "harness/pmu_events.h"
#include "harness/pmu_groups.h"
#include "harness/result.h"
#include "harness/topology.h"
#include "src/base/types.h"

namespace latchlab {

/// Counters of whole packages.
using PackageCounters = std::vector<std::unique_ptr<PmuGroups>>;
/// Of those that threads on these seats run in, for the events that are counted of packages.
[[nodiscard]] PackageCounters count_packages(const std::vector<PmuEvent>& events, const Topology& topology, const Seats& seats);

/// What `now` counts beyond what `before` did, of each event: what is scaled by its own times, since the difference of two scaled
/// counts may be below zero where events take turns.
[[nodiscard]] std::vector<PmuCount> counted_since(const std::vector<PmuCount>& before, const std::vector<PmuCount>& now);

/// `threads` and `packages`: of each its PmuGroups::counts(). `operations` were done.
[[nodiscard]] PmuResult pmu_account(const std::vector<PmuEvent>& events, const std::vector<std::vector<PmuCount>>& threads,
                                    const std::vector<std::vector<PmuCount>>& packages, u64 operations, const Root& root = {});

/// Why the kernel does not count an event, and what to change.
struct NotCounted {
  std::string why;      ///< "EACCES: not permitted"
  std::string remedy;   ///< "sysctl kernel.perf_event_paranoid=1 (it is 2), ..."; empty where nobody knows one

  [[nodiscard]] std::string text() const { return remedy.empty() ? why : why + "; " + remedy; }
};
[[nodiscard]] NotCounted why_not_counted(int error, const PmuEvent& event, const Root& root = {});

}  // namespace latchlab
