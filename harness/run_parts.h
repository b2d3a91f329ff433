// What a run consists of, as what is said of it needs it (trial_account.h, aftermath.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/config.h"
#include "harness/phases.h"
#include "harness/placement.h"
#include "harness/pmu_events.h"
#include "harness/step_maker.h"
#include "harness/topology.h"
#include "harness/trial.h"
#include "workloads/keys.h"
#include "workloads/workload.h"

namespace latchlab {

inline constexpr u64 kMeasuredPhase = 1;   ///< the stream's phase of warm-up and measurement; loading is phase 0

/// All of it outlives this.
struct RunParts {
  Trial& trial;
  const Config& config;
  const Topology& topology;
  const Seats& seats;
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
  [[nodiscard]] Measured<double> nodes_of(const Slice& steps) const;
};

}  // namespace latchlab
