#pragma once

// Turns let threads do pieces of work one after the other, in the order of the pieces. If a lock admits one thread at a
// time anyway, turns hand it over once a piece instead of once an operation. Every thread still does its share on its
// own processor.

#include <atomic>

#include "harness/host/thread_team.h"
#include "src/base/types.h"

namespace latchlab {

class Turns {
 public:
  explicit Turns(ThreadTeam& team) : team_(team) {}

  /// Makes turn 0 the next. Call it while no thread waits.
  void start() { next_.store(0, kRelaxed); }  // relaxed: starting the phase's task in the team synchronizes

  /// Waits until turn `turn` comes. Some thread must await and end each turn. Returns false as soon as `stop` is set.
  [[nodiscard]] bool await(u64 turn, const std::atomic<bool>& stop) {
    // The acquire pairs with end(). The load of the flag is relaxed, since it publishes nothing.
    const auto come = [&] { return next_.load(kAcquire) == turn; };
    team_.sleep_until([&] { return come() || stop.load(kRelaxed); });
    return come();
  }

  void end() {
    next_.fetch_add(1, kRelease);  // pairs with await()
    team_.wake();
  }

 private:
  ThreadTeam& team_;
  std::atomic<u64> next_{0};
};

}  // namespace latchlab
