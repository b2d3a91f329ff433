// How far the threads are and how fast they go, while they go. Each thread adds the operations that it has
// done to numbers on lines of its own after every slice. The timekeeper reads them every sampling interval,
// together with the seconds that count (rounds.h):
//
//     rate of an interval = new operations / new seconds
//
// so that the series leaves out and keeps in what the total does. Aborts, fallbacks and restarts go the same way, so
// that an interval in which a collapse begins shows it.
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
  /// Forgets everything: a new phase of `threads` threads.
  void start(u32 threads);

  /// By thread `thread` only: operations, and what they met with. Under a mutex that is nearly always free, so that a
  /// sample never has the one without the other.
  void add(u32 thread, u64 operations, const ContentionCounts& contention = {}) {
    Lane& lane = threads_[thread];
    const std::lock_guard lock(lane.mutex);
    lane.done.operations += operations;
    lane.done.contention = lane.done.contention + contention;
  }
  /// Thread `thread` adds no more. Relaxed: a sample that misses it is only one more interval.
  void finish(u32 thread) { threads_[thread].finished.store(true, kRelaxed); }

  /// By the timekeeper: ends an interval. `seconds` is what counts since the phase began.
  void sample(double seconds);

  [[nodiscard]] u64 operations() const;

  /// Interval by interval. One in which there was nothing to take a share of is joined with those that follow, up to
  /// the next that has something, and they have its rate; at the end such are left out.
  struct ContentionSeries {
    std::vector<double> aborts, restarts;  ///< an operation
    std::vector<double> fallbacks;         ///< of what could be elided
  };
  [[nodiscard]] const ContentionSeries& contention() const { return contention_; }

  /// Totals, rates a thread, the series and fairness; all rates are over the same `seconds`, so that those of
  /// the threads add up to the total. When nobody adds any more.
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
  Done told_;                // in the series, `aborts` and `restarts`
  ContentionCounts elided_;  // in `fallbacks`
  ContentionSeries contention_;
};

}  // namespace latchlab
