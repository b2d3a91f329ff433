#pragma once
// What this process may count on this machine, for `harness doctor`: what libpfm4 knows of the processor, and what the kernel says
// to a try of every family.

#include <string>

#include "harness/environment.h"
#include "src/arch/perf_calls.h"
#include "src/base/types.h"

namespace latchlab {

struct Finding;

struct PmuAccess {
  std::string processor;    ///< as libpfm4 calls it; empty if it does not know it
  int error = 0;            ///< errno of counting cycles, 0 if they are counted
  bool user_only = false;   ///< of them only those outside the kernel
  std::string families;     ///< "software 3 of 3, core 0 of 3": how many events of each are counted
};

/// Tries every event of every family on the calling thread, energy on the package that it is in: some milliseconds.
[[nodiscard]] PmuAccess pmu_access(PerfCalls& calls = kernel_perf());

/// What doctor says of it.
[[nodiscard]] Finding finding_of(const PmuAccess& access, const Root& root = {});

}  // namespace latchlab
