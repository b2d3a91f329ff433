#pragma once

// What a result says of the calls that were timed.

#include "harness/config/config.h"
#include "harness/loop/latency.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// Why there are no response times, where there are none.
inline constexpr const char* kClosedLoop =
    "in a closed loop an operation is due when the one before is done; --rate is an open one";

/// The same of an open loop in which no call is timed.
inline constexpr const char* kUntimed = "--latency=off: no call was timed, and so no response time either";

/// What a result says of them; no part where none was timed. In a closed loop a note says what timing cost it. `sync`
/// says what the policy counts, or why it does not.
[[nodiscard]] Account<OrReason<Latency>> latency_account(const Config& config, const MeasuredPhase& phase,
                                                         const Throughput& throughput, const SyncStats& sync);

}  // namespace latchlab
