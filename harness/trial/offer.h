// How an open loop went, from what its threads have left behind.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.h"
#include "harness/trial/phases.h"

namespace latchlab {

/// The largest of all threads.
[[nodiscard]] Lag lag_of(const std::vector<Worker>& workers);

/// Whether what waits at the end of so many seconds is a queue that grows.
[[nodiscard]] bool late(const Lag& lag, double seconds);

/// What came in the `seconds` of the phase: to each thread its share, until it had no operation left to wait for. Looks at what waited
/// in the threads' loops as they left, which they forget by that.
[[nodiscard]] Offer offer_of(std::vector<Worker>& workers, const Rate& rate, double seconds);

/// That it was too much for the threads, who did so many operations a second.
[[nodiscard]] std::string too_much(const Offer& offer, double done_per_second);

}  // namespace latchlab
