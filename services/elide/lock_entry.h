#pragma once
// What one thread has counted and learned of one lock.
//
// Entries are a thread's own, so counting never moves a line between processors, and nothing is written on the line of
// the lock itself: that line is in the read set of every transaction under the lock. The counts are atomics only
// because the report may read them while the thread goes on.
//
//     calls         = acquisitions + refused
//     acquisitions  = commits + inside + fallbacks + direct + passed
//     begins        = commits + the aborts of all causes
#include <pthread.h>

#include <array>
#include <atomic>

#include "services/elide/causes.h"
#include "sync/budget_learner.h"

namespace latchlab::elide {

/// A number that its owner counts up and any thread may read.
class Count {
 public:
  void add() { value_.store(value_.load(kRelaxed) + 1, kRelaxed); }
  u64 value() const { return value_.load(kRelaxed); }
  void clear() { value_.store(0, kRelaxed); }

 private:
  std::atomic<u64> value_{0};
};

struct LockCounts {
  Count begins;
  Count commits;    ///< acquisitions whose transaction committed; with emulated aborts: whose begin did not fail
  Count inside;     ///< acquisitions inside the transaction of another lock, if that committed
  Count fallbacks;  ///< acquisitions by the real call after speculation
  Count direct;     ///< acquisitions by the real call without speculation: retries 0, a lock that is not elided
  Count passed;     ///< acquisitions of recursive, errorcheck, robust and other mutexes, which are never elided
  Count refused;    ///< calls that did not get the lock: a try of a held one, a time that ran out, a deadlock found
  std::array<Count, kCauses> aborts;

  void clear() {
    for (Count* count : {&begins, &commits, &inside, &fallbacks, &direct, &passed, &refused}) count->clear();
    for (Count& count : aborts) count.clear();
  }
};

struct LockEntry {
  /// One acquisition in so many is timed, from the call that locks to the end of the call that unlocks. The time
  /// between acquisitions, in which a thread may be idle, is no cost of the lock. The two readings of the clock took
  /// nine times as long as the rest that we add to an acquisition (67 and 7 ns on an AMD EPYC), so few are timed.
  static constexpr u32 kTimedEvery = 16;
  /// Windows count timed acquisitions: 1,024 and 256 acquisitions.
  using Learner = BudgetLearner<64, 16>;

  explicit LockEntry(const pthread_mutex_t* which) : lock(which) {}

  /// Ends a timed acquisition that took so many nanoseconds.
  void learn(u64 took) {
    spent += took;
    if (!learner.count()) return;
    learner.end_window(spent);
    retries.store(learner.budget(), kRelaxed);
  }

  const pthread_mutex_t* const lock;  // null: all locks that the table has no room for
  LockCounts counts;
  std::atomic<int> kind{0};                   // of the mutex, at its last acquisition
  std::atomic<u32> retries{kBudgets.back()};  // the learner's budget, for the report
  std::atomic<bool> waits{false};             // a condition wait released it: it is not elided any more
  u32 until_timed = kTimedEvery;
  u64 spent = 1;  // nanoseconds of all timed acquisitions: the clock of the learner, for which 0 is no time
  Learner learner;
};

}  // namespace latchlab::elide
