#pragma once
// The PMU events that this process may count on this machine, for `harness doctor` and `harness list pmu`. The library
// libpfm4 knows the processor's events, and the kernel answers a try to count each one.

#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/pmu_events.h"
#include "src/arch/perf_calls.h"
#include "src/base/types.h"

namespace latchlab {

struct PmuAccess {
  std::string processor;   ///< the name of the processor in libpfm4; empty if libpfm4 does not know it
  int error = 0;           ///< errno of counting cycles, 0 if they are counted
  bool user_only = false;  ///< cycles are counted only outside the kernel
  std::string families;    ///< "software 3 of 3, core 0 of 3": the number of events of each family that are counted
};

/// Tries every event of every family on the calling thread, and energy on its package. Takes some milliseconds.
[[nodiscard]] PmuAccess pmu_access(PerfCalls& calls = kernel_perf());

/// Returns for each event why it is not counted here; empty for an event that is. The reason comes from libpfm4, or
/// from the kernel's answer to a try on the calling thread or its package.
[[nodiscard]] std::vector<std::string> why_not_here(const std::vector<PmuEvent>& events,
                                                    PerfCalls& calls = kernel_perf(), const Root& root = {});

/// The reason why the kernel does not count an event, and a remedy.
struct NotCounted {
  std::string why;     ///< "EACCES: not permitted"
  std::string remedy;  ///< "sysctl kernel.perf_event_paranoid=1 (it is 2), ..."; empty if there is none

  [[nodiscard]] std::string text() const { return remedy.empty() ? why : why + "; " + remedy; }
};
[[nodiscard]] NotCounted why_not_counted(int error, const PmuEvent& event, const Root& root = {});

}  // namespace latchlab
