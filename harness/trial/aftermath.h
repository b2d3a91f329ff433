// What is looked at when the threads have left the index: it against the tally, the way to its keys, which operations they were, and
// what the memory under it can do.
#pragma once

#include "harness/host/progress.h"
#include "harness/result/result.h"
#include "harness/trial/run_parts.h"

namespace latchlab {

void look_over(const RunParts& run, Progress& progress, TrialResult& out);

/// How many lines one operation is worth in a thread's time on its processor, without the time in which it
/// waited for its turn on a shared one: `processors` is how many the threads had together.
void set_limit_ratios(Limits& limits, const Throughput& throughput, u32 processors);

}  // namespace latchlab
