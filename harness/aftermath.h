// What is looked at when the threads have left the index: it against the tally, the way to its keys, which operations they were, and
// what the memory under it can do.
#pragma once

#include "harness/progress.h"
#include "harness/result.h"
#include "harness/run_parts.h"

namespace latchlab {

void look_over(const RunParts& run, Progress& progress, TrialResult& out);

}  // namespace latchlab
