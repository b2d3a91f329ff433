// The account of the recorded calls.
#pragma once

#include "harness/config/plan.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// Returns the recorded calls. A history that is not linearizable makes the run invalid. It is degraded if a history
/// was to be checked and the check has no answer, or knows nothing of the measured phase.
[[nodiscard]] Account<OrReason<History>> history_account(const Plan& plan, const Measurement& m);

/// Adds the answer of the check of the recorded calls to the validation.
void add_history(const OrReason<RecordedHistory>& history, Validation& validation);

}  // namespace latchlab
