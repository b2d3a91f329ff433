#pragma once

// A workload of several phases, one a line: name, number of operations, workload, and optionally distribution and
// churn. The default distribution is that of the workload's name, or uniform. # begins a comment. All phases are parts
// of the measured phase of a run, which has loaded its records before:
//
//     warm     1M   lookup                            zipf:0.99
//     shift    4M   mix:read=90,insert=5,erase=5      zipf:0.99   drift:100k
//     crowd    2M   ycsb-a
//
// Each phase is a mix (mix.h) over the records that the one before has left (phased_stream.h). Its operations are
// rounded up to whole blocks of 256. Within a block nothing is in order, and the records that the next phase finds must
// be known.

#include <string>
#include <vector>

#include "src/base/types.h"
#include "workloads/churn.h"
#include "workloads/distribution.h"
#include "workloads/mix.h"

namespace latchlab {

struct WorkloadPhase {
  std::string name;
  u64 operations;  ///< a multiple of Mix::kBlock
  u64 asked;       ///< the number of operations on the line
  Mix mix;
  Distribution distribution;
  Churn churn;

  // The words on the line, or the defaults.
  std::string workload;
  std::string distribution_words;  ///< empty if no operation draws a key
  std::string churn_words;
};

/// Reads a file of phases. Throws InputError with file and line. It refuses a phase `insert`, which fills an empty
/// index, and a name that occurs twice. It also refuses what options refuse: a distribution from which no operation
/// draws, and impossible churn.
[[nodiscard]] std::vector<WorkloadPhase> read_phases(const std::string& path);

}  // namespace latchlab
