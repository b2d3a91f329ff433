#pragma once
// The three system calls that counting takes: open, read and close a performance counter. A counter runs from the
// moment it is opened. To count what happens between two moments, read it twice. That is cheaper than starting and
// stopping it, which sets up the processor's counters anew. Counters of one group are scheduled together or not at all.
// The file of the first counter reads the whole group:
//
//     { number of counters, ns enabled, ns running, value of the first, value of the second, ... }
//
// Both times advance only while the thread runs. A counter that was enabled for longer than it was running shared the
// processor's counters with others. See perf_event_open(2).

#include <span>

#include "src/base/types.h"

namespace latchlab {

/// The event to count, in the kernel's terms.
struct PerfCode {
  u32 type = 0;  ///< the PMU's type: hardware, software, raw, or a number that the kernel gave it
  u64 config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;

  bool operator==(const PerfCode&) const = default;
};

/// Returns true if the event happens only inside the kernel, so that a count without the kernel is always 0: context
/// switches and migrations.
[[nodiscard]] bool happens_in_kernel(const PerfCode& code);

/// The kernel's interface for counters; a test puts a substitute in its place.
class PerfCalls {
 public:
  static constexpr int kThisThread = -1;
  static constexpr int kNoGroup = -1;

  virtual ~PerfCalls() = default;

  /// Begins to count events of the calling thread (kThisThread) or of processor `cpu`, in the group that the file
  /// `group` leads. Returns a file, or minus errno.
  [[nodiscard]] virtual int open(const PerfCode& code, int cpu, int group) = 0;
  /// Reads the counts of the group that `file` leads. Returns the number of bytes, or minus errno.
  [[nodiscard]] virtual long read(int file, std::span<u64> into) = 0;
  virtual void close(int file) = 0;
};

/// Returns the running kernel's interface. When the process runs out of files, it raises the soft limit to the hard
/// one.
[[nodiscard]] PerfCalls& kernel_perf();

}  // namespace latchlab
