#pragma once
// The system calls of performance counters, as few as counting takes: open, read, close. A counter runs from the moment
// it is opened, and who wants to know what happened between two moments reads it twice: that is cheaper than starting
// and stopping it, which sets up the processor's counters anew. Counters of one group are scheduled together or not at
// all, and are read together by the file of the first:
//
//     { how many, ns enabled, ns running, value of the first, value of the second, ... }
//
// Time runs while the thread runs; what was enabled for longer than it was running had to share the processor's
// counters with others. See perf_event_open(2).

#include <span>

#include "src/base/types.h"

namespace latchlab {

/// What to count, in the kernel's terms.
struct PerfCode {
  u32 type = 0;  ///< of the PMU: hardware, software, raw, or a number that the kernel gave it
  u64 config = 0, config1 = 0, config2 = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;

  bool operator==(const PerfCode&) const = default;
};

/// Whether it only ever happens inside the kernel, so that a count without the kernel is always 0: context switches and
/// migrations.
[[nodiscard]] bool happens_in_kernel(const PerfCode& code);

/// The kernel, or what stands for it in a test.
class PerfCalls {
 public:
  static constexpr int kThisThread = -1;
  static constexpr int kNoGroup = -1;

  virtual ~PerfCalls() = default;

  /// Begins to count what the calling thread does, or all that happens on processor `cpu`, in the group of the file
  /// `group`. A file, or minus errno.
  [[nodiscard]] virtual int open(const PerfCode& code, int cpu, int group) = 0;
  /// The counts of the group that `file` leads; bytes, or minus errno.
  [[nodiscard]] virtual long read(int file, std::span<u64> into) = 0;
  virtual void close(int file) = 0;
};

/// The running kernel. Where files run out it raises the soft limit to the hard one.
[[nodiscard]] PerfCalls& kernel_perf();

}  // namespace latchlab
