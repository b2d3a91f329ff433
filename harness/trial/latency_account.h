#pragma once

// The account of timed calls.

#include "harness/config/config.h"
#include "harness/loop/latency.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// The reason why a closed loop has no response times.
inline constexpr const char* kClosedLoop =
    "in a closed loop an operation is due when the one before is done; --rate makes the loop open";

/// The reason why an open loop without timed calls has no response times.
inline constexpr const char* kUntimed = "--latency=off: no call was timed, so there are no response times";

/// Returns the latencies; no part if no call was timed. In a closed loop a note says what timing cost. `sync` has the
/// policy's counts, or the reason why they are missing.
[[nodiscard]] Account<OrReason<Latency>> latency_account(const Config& config, const MeasuredPhase& phase,
                                                         const Throughput& throughput, const SyncStats& sync);

}  // namespace latchlab
