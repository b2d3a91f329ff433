#pragma once

// A meeting is a barrier for the threads of a phase, at which the last one to come decides for all how to go on.
// Threads sleep while they wait, since there may be more threads than processors. Waking up late costs nothing: the
// next round (rounds.h) begins for all at once.

#include <atomic>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class Meeting {
 public:
  explicit Meeting(ThreadTeam& team) : team_(team) {}

  /// Begins a meeting of so many threads. Call it while no thread waits.
  void start(u32 threads) {
    threads_ = threads;
    here_.store(0, kRelaxed);  // relaxed: starting the phase's task in the team synchronizes with its threads
  }

  /// Waits until all threads have come. The last one calls `what`, and all return its result. Returns false as soon as
  /// `stop` is set, since another thread may then have left without coming.
  template <class What>
  [[nodiscard]] bool meet(const std::atomic<bool>& stop, const What& what) {
    if (stop.load(kRelaxed)) return false;    // relaxed, here and below: the flag publishes nothing
    const u64 before = held_.load(kRelaxed);  // relaxed: it cannot change before this thread has come
    // (1) Each arrival synchronizes with the later ones, so the last thread sees what all did before.
    if (here_.fetch_add(1, kAcqRel) + 1 == threads_) {
      here_.store(0, kRelaxed);  // relaxed: (2) orders it before the next meeting
      answer_ = what();
      held_.store(before + 1, kRelease);  // (2) pairs with (3)
      team_.wake();
      return answer_;
    }
    const auto held = [&] { return held_.load(kAcquire) != before; };  // (3) pairs with (2)
    team_.sleep_until([&] { return held() || stop.load(kRelaxed); });
    return held() && answer_;
  }

 private:
  ThreadTeam& team_;
  u32 threads_ = 0;
  std::atomic<u32> here_{0};
  std::atomic<u64> held_{0};
  bool answer_ = false;  // the result of the last meeting
};

}  // namespace latchlab
