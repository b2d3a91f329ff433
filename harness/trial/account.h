// Accounts turn a Measurement into the document, part by part. Each is a pure function of the plan and the measurement;
// document() assembles the parts.
#pragma once

#include <optional>

#include "harness/config/plan.h"
#include "harness/host/topology.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// Returns the whole document. The worst remark becomes its status (TrialResult::worsen). Notes are in the order of the
/// run; notes about inert options come last.
[[nodiscard]] TrialResult document(const Plan& plan, const Topology& topology, const Measurement& m);

/// Returns why a run ends before its measured phase although no thread failed, if it does. Reasons are a wrong or full
/// index, or that no operation is left.
[[nodiscard]] std::optional<Remark> obstacle(const Plan& plan, const Measurement& m);

/// Returns whether other programs used the processors of a run. The run is noisy if a thread was on a processor for
/// less than kEnoughOnProcessor of its time. A note says so if the host took 5 % of the machine's time or more.
[[nodiscard]] Account<Health> health_account(const Plan& plan, const Measurement& m);
[[nodiscard]] Scheduling scheduling_account(const Plan& plan, const Measurement& m);

/// Returns the throughput; no part if no operation was done. `m` must have a measured phase.
[[nodiscard]] Account<OrReason<Throughput>> throughput_account(const Plan& plan, const Measurement& m);

[[nodiscard]] Account<OrReason<std::vector<NamedCount>>> reclaim_account(const MeasuredPhase& phase);

[[nodiscard]] Account<MemoryUse> memory_account(const Plan& plan, const Topology& topology, const Measurement& m);

/// Adds the cost of one operation in cache-line accesses, and the share of the loop in it. The cost is a thread's time
/// on a processor for one operation, over that of one access. `processors` is how many the threads had together, so
/// waiting for a shared processor does not count.
[[nodiscard]] Limits with_limit_ratios(Limits limits, const Throughput& throughput, u32 processors);

}  // namespace latchlab
