#pragma once
// Memory that runs out on request: the n-th allocation from now fails, once or from then on.
//
// Counted are the two places where memory can really end: a block that a pool hands out, and a chunk that a pool asks
// the kernel for. An operation is correct under exhaustion when it is correct for every n, so tests walk n from 1 until
// an operation gets through without meeting the failure. Pools without a plan do not look for one on their fast path.
//
// All orders are relaxed: a plan is armed while nobody allocates, so starting and joining the threads that do orders it
// before and after them, and among them only the number of an allocation counts, which a read-modify-write deals out.
#include <atomic>

#include "src/base/types.h"

namespace latchlab {

class FailurePlan {
 public:
  enum class Then { kOnce, kForEver };

  /// The `nth` allocation from now fails (1 is the next one), and with kForEver all that follow it. 0 disarms. While
  /// nobody allocates.
  void arm(u64 nth, Then then = Then::kOnce) {
    nth_.store(0, kRelaxed);
    seen_.store(0, kRelaxed);
    for_ever_.store(then == Then::kForEver, kRelaxed);
    nth_.store(nth, kRelaxed);
  }
  void disarm() { arm(0); }

  /// One allocation is about to happen: must it fail?
  [[nodiscard]] bool fails() {
    const u64 nth = nth_.load(kRelaxed);
    const u64 now = seen_.fetch_add(1, kRelaxed) + 1;
    return nth != 0 && (now == nth || (now > nth && for_ever_.load(kRelaxed)));
  }

  /// Allocations since the plan was armed: below `nth` when the operation got through without meeting the failure.
  u64 seen() const { return seen_.load(kRelaxed); }

 private:
  std::atomic<u64> nth_{0};
  std::atomic<u64> seen_{0};
  std::atomic<bool> for_ever_{false};
};

}  // namespace latchlab
