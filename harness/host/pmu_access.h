#pragma once
// What this process may count on this machine, for `harness doctor` and `harness list pmu`: what libpfm4 knows of the
// processor, and what the kernel says to a try of every family.

#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/pmu_events.h"
#include "src/arch/perf_calls.h"
#include "src/base/types.h"

namespace latchlab {

struct PmuAccess {
  std::string processor;   ///< as libpfm4 calls it; empty if it does not know it
  int error = 0;           ///< errno of counting cycles, 0 if they are counted
  bool user_only = false;  ///< of them only those outside the kernel
  std::string families;    ///< "software 3 of 3, core 0 of 3": how many events of each are counted
};

/// Tries every event of every family on the calling thread, energy on the package that it is in: some milliseconds.
[[nodiscard]] PmuAccess pmu_access(PerfCalls& calls = kernel_perf());

/// Of each of these events why it is not counted here, as libpfm4 knows it or as the kernel answers to a try on the
/// calling thread, or on the package that it is in; empty for one that is.
[[nodiscard]] std::vector<std::string> why_not_here(const std::vector<PmuEvent>& events,
                                                    PerfCalls& calls = kernel_perf(), const Root& root = {});

/// Why the kernel does not count an event, and what to change.
struct NotCounted {
  std::string why;     ///< "EACCES: not permitted"
  std::string remedy;  ///< "sysctl kernel.perf_event_paranoid=1 (it is 2), ..."; empty where nobody knows one

  [[nodiscard]] std::string text() const { return remedy.empty() ? why : why + "; " + remedy; }
};
[[nodiscard]] NotCounted why_not_counted(int error, const PmuEvent& event, const Root& root = {});

}  // namespace latchlab
