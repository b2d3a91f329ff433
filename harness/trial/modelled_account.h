#pragma once

// The account of a modelled run. Its times are virtual. What the kernel or the processor of this machine would report
// is about the model's own run, so it is left out.

#include "harness/config/plan.h"
#include "harness/result/result.h"
#include "src/model/model.h"

namespace latchlab {

/// Makes a result that of a prediction: its status says so, and values that a model does not have are missing.
void mark_modelled(TrialResult& result, const Plan& plan);

/// Returns where the time of the measured phase went, as the account of the model says. The modelled world still has
/// the index.
[[nodiscard]] VirtualTime virtual_time_of(const model::Model& processor);

}  // namespace latchlab
