#pragma once

// Checks of combinations whose words are each right by themselves. They find options that do not reach the index, the
// policy or the workload, and operations that those cannot do.

#include <string>

#include "harness/cli/check.h"
#include "harness/config/plan.h"
#include "harness/config/registry.h"
#include "workloads/churn.h"
#include "workloads/workload.h"

namespace latchlab {

/// A complete point: the options that were not given have their defaults.
struct Combination {
  const Plan& plan;
  const Config& config;  ///< the Config of the plan
  const Defaults& defaults;
  const Pair& pair;
  const Workload& workload;
  const Churn& churn;
  u64 capacity = 0;  ///< number of distinct keys
};

/// Returns why the combination is wrong, in one line that begins with the option at fault; empty if it is right.
[[nodiscard]] std::string why_not_together(const Combination& point);

}  // namespace latchlab
