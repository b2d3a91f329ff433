#pragma once

// The threads of a trial, and the clock that they share. The threads live through all phases. So the thread that
// loads is also the thread that measures, with the same pool, processor and epoch. All code that meets, waits or
// watches does so through the team. So the same phases run on threads of the system (native_team.h) and on fibers in
// virtual time (fiber_team.h).

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "harness/config/or_reason.h"
#include "harness/host/clock.h"
#include "harness/host/limits.h"
#include "harness/host/on_processor.h"
#include "src/base/types.h"
#include "src/machine/preemption.h"
#include "src/machine/waits.h"
#include "src/memory/numa.h"

namespace latchlab {

/// Running totals of a thread. The difference of two is what happened in between.
struct ThreadWaits {
  WaitCounts counts;
  u64 involuntary = 0;  ///< involuntary context switches
  u64 slices = 0;       ///< sections that the kernel has extended

  ThreadWaits& operator+=(const ThreadWaits& more) {
    counts += more.counts;
    involuntary += more.involuntary;
    slices += more.slices;
    return *this;
  }
  ThreadWaits& operator-=(const ThreadWaits& less) {
    counts -= less.counts;
    involuntary -= less.involuntary;
    slices -= less.slices;
    return *this;
  }
};

class ThreadTeam {
 public:
  /// A mutex for a few words. No thread waits while it holds one. So fibers never contend for it, since each fiber runs
  /// until it waits.
  using Mutex = std::mutex;

  virtual ~ThreadTeam() = default;

  [[nodiscard]] virtual Clock& clock() = 0;

  /// Starts threads 0 to `threads` - 1. Throws std::system_error if the system has no more threads.
  virtual void begin(u32 threads) = 0;
  /// Ends the threads, if they were started.
  virtual void end() = 0;

  /// Runs task(t) on every thread t, and returns when all are done. All threads begin within a microsecond. Meanwhile
  /// the caller runs watch() at once, and then again at each time that it returned, in ns of the clock. Exceptions of a
  /// task or of watch() are caught, and the first is returned. The thread that caught it calls on_failure() at once, to
  /// stop the others.
  [[nodiscard]] virtual std::exception_ptr run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                               const std::function<void()>& on_failure) = 0;
  /// Runs task(t) on every thread t with nothing to watch; a failing thread does not stop the others.
  [[nodiscard]] std::exception_ptr run_all(const std::function<void(u32)>& task) {
    return run(task, [this] { return clock().now() + 1'000'000'000; }, [] {});
  }

  /// Sets how threads wait for each other inside an index, if that can be chosen, and whether they look at their
  /// context switches then. Call it before begin().
  virtual void wait_by(WaitBy /*way*/, bool /*watches_switches*/) {}

  /// Tells that the next phases load data, which takes no time on a modelled machine, or that they no longer do.
  virtual void load(bool /*loading*/) {}
  /// Tells that the phase that is measured begins: a modelled machine then says where its time goes.
  virtual void measure() {}
  /// Tells that it has ended.
  virtual void measured() {}

  // For threads of the team:

  /// Spins until `word` differs from `value`, for short waits. An acquire, which pairs with the store that ends the
  /// wait.
  virtual void wait_while(const std::atomic<u64>& word, u64 value) = 0;
  /// Sleeps until done() is true. The sleeper calls done() after each wake(), and about every 10 ms. It then holds a
  /// lock of the team, so done() must not call the team.
  virtual void sleep_until(const std::function<bool()>& done) = 0;
  /// Makes all sleepers call done() again. There done() sees everything that this thread did before.
  virtual void wake() = 0;
  /// Lets a moment pass, but not beyond `until_ns` of the clock. With `yields` the thread offers its processor to
  /// others meanwhile.
  virtual void idle(u64 until_ns, bool yields) = 0;

  /// Binds the thread to a processor; false if the kernel refuses.
  virtual bool pin(u32 cpu) = 0;
  /// Places the pages that the thread touches first from now on; false if the kernel refuses.
  virtual bool place(const PagePlacement& pages) = 0;
  /// Prepares to interrupt the thread inside its operations, at moments that `seed` gives. The thread must destroy the
  /// result itself.
  [[nodiscard]] virtual OrReason<std::unique_ptr<Preemption>> preemption(u64 seed) = 0;
  /// Lets the thread ask the kernel for longer time slices (Machine::Section).
  virtual void extend_slices() {}
  /// Returns the processor that the thread is on, if the kernel tells.
  [[nodiscard]] virtual std::optional<u32> cpu() = 0;
  /// Returns what the thread has done in waits inside an index, if its waits are counted.
  [[nodiscard]] virtual std::optional<ThreadWaits> waits() { return std::nullopt; }
  /// Returns the time for which the thread has had a processor, in ns, if the kernel tells.
  [[nodiscard]] virtual std::optional<u64> ran_ns() = 0;
  /// Returns that time, the time for which the thread waited for a processor, and its sleeps, if the kernel tells.
  [[nodiscard]] virtual std::optional<ProcessorTime> processor_time() = 0;

  // While no thread of the team runs a task:

  /// Measures the limits of the memory under the threads.
  [[nodiscard]] virtual Limits limits(const LimitsPlan& plan) = 0;
};

}  // namespace latchlab
