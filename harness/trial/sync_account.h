#pragma once
// What the policy's counters say of the measured phase, and what they say against it.
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"
#include "src/base/types.h"

namespace latchlab {

/// All of it but `reclaim`. A call took up to `keys` operations.
[[nodiscard]] Account<SyncStats> sync_account(const MeasuredPhase& phase, bool elides, u32 keys);

}  // namespace latchlab
