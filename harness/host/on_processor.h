// Whether the threads of a run had their processors. Other programs, or a limit of the container's, may keep a thread
// from one for most of a run; what it then did is no measure of the index, and no policy's counter shows it.
//
//     ran      the thread's processor time
//     waited   the time in which it was ready to run and was not let (Linux: /proc/thread-self/schedstat)
//     share    ran / (ran + waited)
//
// Who sleeps, since a lock that blocks is another's, neither runs nor waits. But waking up is a short wait each time,
// so of threads that sleep often the share would say that of an idle machine, too: it is not known. Neither is it of
// threads that share processors by their number, since they take turns: a run that keeps itself waiting is not noisy.
// What threads sleep for each other at the end of a section of the stream (phases.h) is left out of all three.
#pragma once

#include <optional>
#include <vector>

#include "harness/config/or_reason.h"
#include "harness/host/environment.h"
#include "src/base/types.h"

namespace latchlab {

/// Running totals of a thread; the difference of two tells what happened between.
struct ProcessorTime {
  u64 ran_ns = 0;
  u64 waited_ns = 0;
  u64 sleeps = 0;  ///< how often it went to sleep of its own accord

  friend ProcessorTime operator+(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.ran_ns + b.ran_ns, a.waited_ns + b.waited_ns, a.sleeps + b.sleeps};
  }
  friend ProcessorTime operator-(const ProcessorTime& a, const ProcessorTime& b) {
    return {a.ran_ns - b.ran_ns, a.waited_ns - b.waited_ns, a.sleeps - b.sleeps};
  }
};

/// Reads the times of the calling thread, which takes some microseconds; nothing if the kernel does not tell all of
/// them.
[[nodiscard]] std::optional<ProcessorTime> processor_time(const Root& root = {});

/// The smallest share of a thread, 0..1, from what each has had in the measured phase. Missing where one did not find
/// out, did not run, or slept more often than 100 times in a second of its time.
[[nodiscard]] OrReason<double> on_processor(const std::vector<std::optional<ProcessorTime>>& threads);

/// A thread that is on a processor for a smaller share of its time was disturbed.
constexpr double kEnoughOnProcessor = .9;

}  // namespace latchlab
