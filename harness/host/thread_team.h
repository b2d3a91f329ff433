#pragma once

// The threads of a trial, and the time that they share. They live through all of its phases, so that the thread that
// loads is the thread that measures: the same pool, the same processor, the same epoch. What meets, waits or watches
// does it through the team. So the same phases run on threads of the system (native_team.h) and on fibers in virtual
// time (virtual_team_testing.h).

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "harness/host/clock.h"
#include "harness/host/limits.h"
#include "harness/host/on_processor.h"
#include "src/base/types.h"
#include "src/memory/numa.h"

namespace latchlab {

class ThreadTeam {
 public:
  /// Guards a few words. Nothing waits while it holds one. So fibers never meet at it: each runs until it waits.
  using Mutex = std::mutex;

  virtual ~ThreadTeam() = default;

  [[nodiscard]] virtual Clock& clock() = 0;

  /// Starts threads 0 to `threads` - 1. Throws std::system_error if the system has no more.
  virtual void begin(u32 threads) = 0;
  /// Ends them, if they were begun.
  virtual void end() = 0;

  /// Runs task(t) on every thread t and returns when all are done. All begin within a microsecond. Meanwhile the caller
  /// runs watch(), at once and then whenever the time comes that it returned last, in ns of the clock. What a task or
  /// watch() throws is caught. The first of them is returned, and on_failure() is called at once by the thread that
  /// failed, so that it can stop the others.
  [[nodiscard]] virtual std::exception_ptr run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                               const std::function<void()>& on_failure) = 0;
  /// The same where nothing is watched and no thread stops another.
  [[nodiscard]] std::exception_ptr run_all(const std::function<void(u32)>& task) {
    return run(task, [this] { return clock().now() + 1'000'000'000; }, [] {});
  }

  // By a thread of the team:

  /// Returns once `word` is another than `value`: a short wait, awake. An acquire, which pairs with the store that ends
  /// it.
  virtual void wait_while(const std::atomic<u64>& word, u64 value) = 0;
  /// Sleeps until done() is true. It is asked when a thread calls wake(), and every 10 ms or so. A lock of the team is
  /// held then, so done() must not call the team.
  virtual void sleep_until(const std::function<bool()>& done) = 0;
  /// What a sleeper waits for may have come: done() then sees what this thread did before.
  virtual void wake() = 0;
  /// Lets a moment pass, but not beyond that time of the clock, in ns. `yields`: others may have the processor
  /// meanwhile.
  virtual void idle(u64 until_ns, bool yields) = 0;

  /// Binds the thread to a processor; false if that is refused.
  virtual bool pin(u32 cpu) = 0;
  /// Pages that the thread touches first lie so from here on; false if that is refused.
  virtual bool place(const PagePlacement& pages) = 0;
  /// The processor that it is on, if the kernel says so.
  [[nodiscard]] virtual std::optional<u32> cpu() = 0;
  /// How long it has had a processor, and that with what it waited for one; if the kernel says so.
  [[nodiscard]] virtual std::optional<u64> ran_ns() = 0;
  [[nodiscard]] virtual std::optional<ProcessorTime> processor_time() = 0;

  /// What the memory under the threads can do at best. While none of them runs.
  [[nodiscard]] virtual Limits limits(const LimitsPlan& plan) = 0;
};

}  // namespace latchlab
