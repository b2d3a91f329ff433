// The share of time in which the threads of a run had a processor. Other programs or a container's limit may keep a
// thread descheduled for most of a run. Its throughput is then no measure of the index, and no policy's counter shows
// it.
//
//     ran      the thread's processor time
//     waited   the time in which it was ready to run but descheduled (Linux: /proc/thread-self/schedstat)
//     share    ran / (ran + waited)
//
// A thread that sleeps at a blocking lock neither runs nor waits. But each wake-up is a short wait. So threads that
// sleep often would have a low share even on an idle machine. Therefore the share is unknown in two cases:
//
//   1. A thread sleeps often.
//   2. There are more threads than processors. They take turns, and a run that makes itself wait is not noisy.
//
// The sleep in which threads wait for each other at the end of a section of the stream (phases.h) is left out of all
// three.
#pragma once

#include <optional>
#include <vector>

#include "harness/config/or_reason.h"
#include "harness/host/environment.h"
#include "src/base/types.h"

namespace latchlab {

/// Running totals of a thread. The difference of two is what happened in between.
struct ProcessorTime {
  u64 ran_ns = 0;
  u64 waited_ns = 0;
  u64 sleeps = 0;  ///< voluntary context switches

  friend ProcessorTime operator+(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.ran_ns + b.ran_ns, a.waited_ns + b.waited_ns, a.sleeps + b.sleeps};
  }
  friend ProcessorTime operator-(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.ran_ns - b.ran_ns, a.waited_ns - b.waited_ns, a.sleeps - b.sleeps};
  }
};

/// Reads the times of the calling thread, which takes some microseconds. Nothing if the kernel does not report all of
/// them.
[[nodiscard]] std::optional<ProcessorTime> processor_time(const Root& root = {});

/// Returns the smallest share of all threads, 0..1, from their times in the measured phase. It is missing in three
/// cases: a thread's times are unknown, it did not run, or it slept more than 100 times in a second of ran + waited.
[[nodiscard]] OrReason<double> on_processor(const std::vector<std::optional<ProcessorTime>>& threads);

/// The smallest undisturbed share: a thread with a smaller one was disturbed.
constexpr double kEnoughOnProcessor = .9;

}  // namespace latchlab
