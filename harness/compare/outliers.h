#pragma once

// What was wrong around a replicate, where it was out of line. Neighbours, the host and the clock disturb a few
// replicates of a comparison and leave the others alone, so each is held against the others of its variant:
//
//   steal      the host took 1 % or more of the processors' time for others: nothing else gives a processor away so
//   switches   threads were thrown off their processors three times as often as in the middle replicate, and more than
//              20 times a second
//   processor  a thread was on one for less than nine tenths of the time in which it could have run
//   load       one more was running beforehand than in the middle
//   frequency  a cycle was 3 % longer or shorter than in the middle
//
// A flag takes nothing away: the replicate counts, and is shown. Where the verdict would be another without those that
// are flagged, that is said too.

#include <string>
#include <vector>

#include "harness/result/result.h"

namespace latchlab {

/// For each of these runs of one variant why it is flagged; mostly for nothing. A run without figures has no flag.
[[nodiscard]] std::vector<std::vector<std::string>> outliers_of(const std::vector<const TrialResult*>& trials);

}  // namespace latchlab
