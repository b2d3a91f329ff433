#pragma once

// Where the threads of a phase wait for each other now and then, and one of them says for all how it goes on. They fall
// asleep meanwhile, since they may be more than there are processors; a round (rounds.h) begins for all at once anyway.

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
    here_.store(0, kRelaxed);  // relaxed: the team brings it to the threads
  }

  /// Waits until all have come, the last of which calls `what`, and returns what that returned. False as soon as `stop`
  /// is set, before which a thread may have left without coming.
  template <class What>
  [[nodiscard]] bool meet(const std::atomic<bool>& stop, const What& what) {
    if (stop.load(kRelaxed)) return false;    // relaxed, here and below: it publishes nothing
    const u64 before = held_.load(kRelaxed);  // relaxed: it cannot change before this thread has come
    // Each arrival pairs with the later ones, so the last one has seen what all did before.
    if (here_.fetch_add(1, kAcqRel) + 1 == threads_) {
      here_.store(0, kRelaxed);  // relaxed: ordered before the next meeting by the release below
      answer_ = what();
      held_.store(before + 1, kRelease);  // pairs with the acquire
      team_.wake();
      return answer_;
    }
    const auto held = [&] { return held_.load(kAcquire) != before; };  // pairs with the last one's release
    team_.sleep_until([&] { return held() || stop.load(kRelaxed); });
    return held() && answer_;
  }

 private:
  ThreadTeam& team_;
  u32 threads_ = 0;
  std::atomic<u32> here_{0};
  std::atomic<u64> held_{0};
  bool answer_ = false;  // of the last meeting
};

}  // namespace latchlab
