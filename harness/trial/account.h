// What is said of a run, before its threads begin and of its measured phase.
#pragma once

#include <optional>

#include "harness/host/environment.h"
#include "harness/result/result.h"
#include "harness/trial/pmu_account.h"
#include "harness/trial/run_parts.h"

namespace latchlab {

/// The phase that is reported: what there was as it began, and how it was run.
struct MeasuredPhase {
  u64 total = 0;   ///< operations that there would have been without an end by time
  u64 left = 0;    ///< of the stream, as it began
  std::optional<Offer> offer;   ///< none: a closed loop
  PackageCounters packages;   ///< they have ended
  OrReason<ReclaimCounters> reclaim;
  Disturbance before;
  u64 accessed_cleared = 0;   ///< how often
};

/// What is known before anything is done. `pages`: of the process as it is then.
void describe(const RunParts& run, TrialResult& out);

/// When the phase is over; closes the threads' events.
void account_for(const RunParts& run, const MeasuredPhase& phase, const PageUse& pages_before, TrialResult& out);

/// Judges by what is known of its health whether others had the processors of a run: it is noisy where a thread had less than
/// kEnoughOnProcessor, and a note says where the host took a twentieth of the machine's time or more.
void judge_processors(TrialResult& result);

}  // namespace latchlab
