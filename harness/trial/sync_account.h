#pragma once
// The account of the policy's counters in the measured phase, with the contradictions that they show.
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"
#include "src/base/types.h"

namespace latchlab {

/// Returns all of SyncStats except `reclaim`. A call took up to `keys` operations.
[[nodiscard]] Account<SyncStats> sync_account(const MeasuredPhase& phase, bool elides, u32 keys);

}  // namespace latchlab
