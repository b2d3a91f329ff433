// What a run consists of, as what is said of it needs it (account.h, aftermath.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/plan.h"
#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/topology.h"
#include "harness/loop/trial.h"
#include "harness/trial/phases.h"
#include "harness/trial/step_maker.h"
#include "workloads/keys.h"
#include "workloads/workload.h"

namespace latchlab {

inline constexpr u64 kMeasuredPhase = 1;   ///< the stream's phase of warm-up and measurement; loading is phase 0

/// All of it outlives this.
struct RunParts {
  Trial& trial;
  const Plan& plan;
  const Config& config;   ///< of the plan
  const Topology& topology;
  const KeySet& keys;
  const Workload& workload;
  const StepMaker& maker;
  const std::vector<PmuEvent>& events;
  Phases& phases;

  [[nodiscard]] const Stream& stream() const { return maker.stream(); }
  [[nodiscard]] Tally tally_of_all() const;
  /// That the index was full: with what in it, and `when`.
  [[nodiscard]] std::string full(std::string_view when) const;
  /// Of the reads among these steps, in the index as it is.
  [[nodiscard]] OrReason<double> nodes_of(const Slice& steps) const;
};

}  // namespace latchlab
