// The account of an open loop: its offered load and how late its threads were.
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.h"
#include "harness/trial/phases.h"

namespace latchlab {

/// Returns when the offer ends, in ns from the start of a phase. The phase took `seconds`, and was planned to take
/// `length_ns` (0: as long as there are operations).
[[nodiscard]] u64 end_of_offer(double seconds, u64 length_ns);

/// Returns the offered load of such a phase. A thread's share of it ends at end_of_offer(), or when the thread had no
/// operation left to wait for. Later arrivals, while a late thread has yet to leave, do not count. Call it once a
/// phase: it uses the threads' loops up.
[[nodiscard]] OfferedLoad offer_of(std::vector<Worker>& workers, const Rate& rate, double seconds, u64 length_ns);

/// Returns the remark that the offer was too much for the threads, which did `done_per_second`.
[[nodiscard]] std::string too_much(const OfferedLoad& offer, double done_per_second);

}  // namespace latchlab
