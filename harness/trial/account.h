// Accounts: what a Measurement means, part by part. They are functions of a plan and of what was observed, and of
// nothing else; document() puts their parts together.
#pragma once

#include <optional>

#include "harness/config/plan.h"
#include "harness/host/topology.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// The whole document. The worst remark is its status (TrialResult::worsen), and notes are in the order of the run;
/// those of options that are inert are the last.
[[nodiscard]] TrialResult document(const Plan& plan, const Topology& topology, const Measurement& m);

/// Why a run ends before its measured phase although no thread failed: the index is wrong or full, or nothing is left
/// to do.
[[nodiscard]] std::optional<Remark> obstacle(const Plan& plan, const Measurement& m);

/// The remarks say whether others had the processors of a run: it is noisy where a thread had less than
/// kEnoughOnProcessor, and a note says where the host took a twentieth of the machine's time or more.
[[nodiscard]] Account<Health> health_account(const Plan& plan, const Measurement& m);

/// No part where no operation was done. `m` has a measured phase, here and where it is asked for below.
[[nodiscard]] Account<OrReason<Throughput>> throughput_account(const Plan& plan, const Measurement& m);

[[nodiscard]] Account<OrReason<std::vector<NamedCount>>> reclaim_account(const MeasuredPhase& phase);

[[nodiscard]] Account<MemoryUse> memory_account(const Plan& plan, const Measurement& m);

/// Adds how many lines one operation is worth in a thread's time on its processor, without the time in which it
/// waited for its turn on a shared one: `processors` is how many the threads had together.
[[nodiscard]] Limits with_limit_ratios(Limits limits, const Throughput& throughput, u32 processors);

}  // namespace latchlab
