#pragma once
// What the policy's counters say of the measured phase, and what they say against it.
#include <string>
#include <vector>

#include "harness/loop/trial.h"
#include "harness/result/result.h"
#include "harness/trial/meter.h"
#include "src/base/types.h"

namespace latchlab {

struct SyncAccount {
  SyncStats stats;               ///< all but `reclaim`
  Status status = Status::kOk;   ///< what the result can be at best: ok, degraded or invalid
  std::string reason;            ///< why it is not ok, one line
};

/// `counted`: what each thread counted in the phase, as Runner::counters(). `operations` of the workload
/// were done, 0 if the phase failed; a call took up to `keys` of them.
[[nodiscard]] SyncAccount sync_account(const Trial& trial, const std::vector<std::vector<u64>>& counted,
                                       const Meter::TroubleSeries& series, u64 operations, u32 keys);

}  // namespace latchlab
