#pragma once

// Threads that do one piece of work after the other, in the order of the pieces: where a lock lets in one at a time
// anyway, this hands it over once a piece and not once an operation, and every thread still does its share on its own
// processor.

#include <atomic>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class Turns {
 public:
  explicit Turns(ThreadTeam& team) : team_(team) {}

  /// Turn 0 is the next. While no thread waits.
  void start() { next_.store(0, kRelaxed); }  // relaxed: the team brings it to the threads

  /// Waits until it is `turn`'s turn, which every turn must come to, in whichever thread. False as soon as `stop` is
  /// set.
  [[nodiscard]] bool await(u64 turn, const std::atomic<bool>& stop) {
    // Acquire: pairs with end. The flag's load is relaxed: it publishes nothing.
    const auto come = [&] { return next_.load(kAcquire) == turn; };
    team_.sleep_until([&] { return come() || stop.load(kRelaxed); });
    return come();
  }

  void end() {
    next_.fetch_add(1, kRelease);  // pairs with await
    team_.wake();
  }

 private:
  ThreadTeam& team_;
  std::atomic<u64> next_{0};
};

}  // namespace latchlab
