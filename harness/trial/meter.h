// The meter counts the threads' operations while they run. After every slice a thread adds its operations to counts on
// cache lines of its own. The timekeeper reads the counts at every sampling interval, together with the seconds that
// count (rounds.h):
//
//     rate of an interval = new operations / new seconds
//
// So the series includes and leaves out the same time as the total. Aborts, fallbacks and restarts are counted the same
// way, so that the series shows in which interval a collapse begins.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "harness/host/thread_team.h"
#include "harness/loop/trial.h"
#include "harness/result/result.h"
#include "src/base/types.h"

namespace latchlab {

class Meter {
 public:
  /// Begins a phase of `threads` threads and resets all counts.
  void start(u32 threads);

  /// Adds operations, and their aborts, fallbacks and restarts. Only thread `thread` calls it. A mutex, which is nearly
  /// always free, makes a sample see both or neither.
  void add(u32 thread, u64 operations, const ContentionCounts& contention = {}) {
    Lane& lane = threads_[thread];
    const std::lock_guard lock(lane.mutex);
    lane.done.operations += operations;
    lane.done.contention = lane.done.contention + contention;
  }
  /// Notes that thread `thread` adds no more. Relaxed: a sample that misses it only adds one more interval.
  void finish(u32 thread) { threads_[thread].finished.store(true, kRelaxed); }

  /// Ends an interval. The timekeeper calls it; `seconds` are those that count since the phase began.
  void sample(double seconds);

  [[nodiscard]] u64 operations() const;

  /// Rates of aborts, restarts and fallbacks, interval by interval. Intervals without an operation, or without one to
  /// elide, are joined with the next interval that has one, and all of them get its rate. Such intervals at the end are
  /// left out.
  struct ContentionSeries {
    std::vector<double> aborts, restarts;  ///< per operation
    std::vector<double> fallbacks;         ///< share of the operations that could be elided
  };
  [[nodiscard]] const ContentionSeries& contention() const { return contention_; }

  /// Returns totals, rates of each thread, the series and fairness. All rates are over the same `seconds`, so those of
  /// the threads add up to the total. Call it when no thread adds any more.
  [[nodiscard]] Throughput throughput(double seconds) const;

 private:
  struct Done {
    u64 operations = 0;
    ContentionCounts contention;
  };
  struct alignas(kFalseSharingBytes) Lane {
    mutable ThreadTeam::Mutex mutex;  // guards `done`
    Done done;
    std::atomic<bool> finished{false};
  };

  [[nodiscard]] static Done done_of(const Lane& lane) {
    const std::lock_guard lock(lane.mutex);
    return lane.done;
  }
  [[nodiscard]] Done done() const;

  std::vector<Lane> threads_;
  double sampled_seconds_ = 0;
  std::vector<double> series_;
  Done told_;                // counts that the series, `aborts` and `restarts` cover
  ContentionCounts elided_;  // counts that `fallbacks` covers
  ContentionSeries contention_;
};

}  // namespace latchlab
