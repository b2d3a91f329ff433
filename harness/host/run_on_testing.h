#pragma once

#include <atomic>
#include <exception>
#include <functional>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab::testing {

/// Runs task(t) on threads 0 to `threads` - 1 of a team that has not begun. Rethrows the first exception of a task.
inline void run_on(ThreadTeam& team, u32 threads, const std::function<void(u32)>& task) {
  team.begin(threads);
  const std::exception_ptr failure = team.run_all(task);
  team.end();
  if (failure) std::rethrow_exception(failure);
}

/// Returns after another thread has announced by `waits` that it is about to wait, and most likely waits.
inline void let_it_wait(ThreadTeam& team, const std::atomic<bool>& waits) {
  for (u32 idles = 0; idles < 100; idles += waits.load()) team.idle(team.clock().now() + 1000, true);
}

/// Calls wait() on one thread. When it most likely waits, another thread sets `stop` without waking it.
inline void stop_one_that_waits(ThreadTeam& team, std::atomic<bool>& stop, const std::function<void()>& wait) {
  std::atomic<bool> waits{false};
  run_on(team, 2, [&](u32 t) {
    if (t == 0) {
      let_it_wait(team, waits);
      stop = true;
    } else {
      waits = true;
      wait();
    }
  });
}

}  // namespace latchlab::testing
