#pragma once

// A workload of several phases, one a line: its name, how many operations it has, what they are, and over which
// distribution (by default that of the workload's name, or uniform) and with which churn. # begins a comment. All of
// them are parts of the measured phase of a run, which has loaded its records before:
//
//     warm     1M   lookup                            zipf:0.99
//     shift    4M   mix:read=90,insert=5,erase=5      zipf:0.99   drift:100k
//     crowd    2M   ycsb-a
//
// Each is a mix (mix.h) over the records that the one before has left (phased_stream.h). Operations are rounded up to
// whole blocks of 256, since within a block nothing is in order, and what the next one finds must be known.

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
  u64 asked;       ///< operations, by the line
  Mix mix;
  Distribution distribution;
  Churn churn;

  // What the line says of these, or leaves to be the default.
  std::string workload;
  std::string distribution_words;  ///< empty where no operation draws a key
  std::string churn_words;
};

/// Throws InputError with file and line, also for an `insert`, which fills an empty index, for a name that is there
/// twice, and for what is refused of options: a distribution that no operation draws a key from, and churn that it
/// cannot have.
[[nodiscard]] std::vector<WorkloadPhase> read_phases(const std::string& path);

}  // namespace latchlab
