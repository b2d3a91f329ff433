#pragma once

// What a result says of the calls that were timed.

#include <string>

#include "harness/loop/latency.h"
#include "harness/result/result.h"

namespace latchlab {

/// Why there are no response times, where there are none.
inline constexpr const char* kClosedLoop =
    "in a closed loop an operation is due when the one before is done; --rate is an open one";

/// The same of an open loop in which no call is timed.
inline constexpr const char* kUntimed = "--latency=off: no call was timed, and so no response time either";

/// That they cost throughput in a closed loop, in one line. `operations`: of the measured phase, `batch` of them in a call.
[[nodiscard]] std::string cost_of_timing(const Latency& latency, u64 operations, u32 batch);

/// What a result says of them, but for share_of_time; `sync` says what the policy counts, or why it does not.
[[nodiscard]] Latency latency_of(const Latencies& all, const SyncStats& sync);

}  // namespace latchlab
