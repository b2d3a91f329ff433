#pragma once
// Memory that runs out on request: the n-th allocation from now fails, alone or with all that follow.
//
// The plan counts the two places where memory can really end: a block that a pool hands out, and a chunk that it takes.
// An operation is correct under exhaustion if it is correct for every n. So tests raise n from 1 until the operation
// ends without meeting the failure. Pools without a plan do not look for one on their fast path.
//
// All orders are relaxed. A plan is armed while no thread allocates, so starting and joining the allocating threads
// orders it. Among them only the number of an allocation matters, which a read-modify-write deals out.
#include <atomic>

#include "src/base/types.h"

namespace latchlab {

class FailurePlan {
 public:
  enum class Then { kOnce, kForEver };

  /// Makes the `nth` allocation from now fail (1 is the next one), and with kForEver all that follow it. 0 disarms.
  /// Call it while no thread allocates.
  void arm(u64 nth, Then then = Then::kOnce) {
    nth_.store(0, kRelaxed);
    seen_.store(0, kRelaxed);
    for_ever_.store(then == Then::kForEver, kRelaxed);
    nth_.store(nth, kRelaxed);
  }
  void disarm() { arm(0); }

  /// Counts one allocation; returns true if it must fail.
  [[nodiscard]] bool fails() {
    const u64 nth = nth_.load(kRelaxed);
    const u64 now = seen_.fetch_add(1, kRelaxed) + 1;
    return nth != 0 && (now == nth || (now > nth && for_ever_.load(kRelaxed)));
  }

  /// Returns the number of allocations since the plan was armed. It is below `nth` if none of them failed.
  u64 seen() const { return seen_.load(kRelaxed); }

 private:
  std::atomic<u64> nth_{0};
  std::atomic<u64> seen_{0};
  std::atomic<bool> for_ever_{false};
};

}  // namespace latchlab
