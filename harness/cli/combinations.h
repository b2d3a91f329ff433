#pragma once

// What makes no sense together although every word is right by itself: options that do not reach the index, the policy
// or the workload, and what those cannot do.

#include <string>

#include "harness/cli/check.h"
#include "harness/config/plan.h"
#include "harness/config/registry.h"
#include "workloads/churn.h"
#include "workloads/workload.h"

namespace latchlab {

/// A point of which all is known: what was not given is filled in.
struct Combination {
  const Plan& plan;
  const Config& config;  ///< of the plan
  const Defaults& defaults;
  const Pair& pair;
  const Workload& workload;
  const Churn& churn;
  u64 capacity = 0;  ///< keys that there are
};

/// One line, which begins with the option that is at fault; empty where all goes together.
[[nodiscard]] std::string why_not_together(const Combination& point);

}  // namespace latchlab
