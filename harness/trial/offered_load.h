// How an open loop went, from what its threads have left behind.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.h"
#include "harness/trial/phases.h"

namespace latchlab {

/// When no more is offered, ns: the end of a phase that took `seconds` and was to take `length_ns` (0: as long as there
/// are operations).
[[nodiscard]] u64 end_of_offer(double seconds, u64 length_ns);

/// What came in such a phase: to each thread its share, until that end or until it had no operation left to wait for.
/// What comes while a late thread has yet to leave is nobody's. Once for each phase: the threads' loops are over by
/// that.
[[nodiscard]] OfferedLoad offer_of(std::vector<Worker>& workers, const Rate& rate, double seconds, u64 length_ns);

/// That it was too much for the threads, who did so many operations a second.
[[nodiscard]] std::string too_much(const OfferedLoad& offer, double done_per_second);

}  // namespace latchlab
