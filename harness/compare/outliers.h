#pragma once

// Outliers among the replicates of a variant. Other programs, the host and the clock disturb a few replicates and leave
// the rest alone. Each replicate is therefore compared with the median of its variant, or with a fixed limit:
//
//   steal      the host took 1 % or more of the processors' time for other guests
//   processor  a thread was on a processor for less than nine tenths of the time in which it could have run
//   switches   the kernel descheduled threads more than 20 times a second, and three times as often as the median
//   load       the load average before the run was more than 1 above the median
//   frequency  a cycle was more than 3 % longer or shorter than the median
//
// A replicate with any of these signs is flagged. It still counts, and is shown. If the verdict without flagged
// replicates is another one, the report shows both.

#include <string>
#include <vector>

#include "harness/result/result.h"

namespace latchlab {

/// Returns for each run of one variant the reasons why it is an outlier; mostly none. A run without figures has none.
[[nodiscard]] std::vector<std::vector<std::string>> outliers_of(const std::vector<const TrialResult*>& trials);

}  // namespace latchlab
