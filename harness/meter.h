// How far the threads are and how fast they go, while they go. Each thread adds the operations that it has
// done to a number on a line of its own after every slice. The timekeeper reads them every sampling interval,
// together with the seconds that count (rounds.h):
//
//     rate of an interval = new operations / new seconds
//
// so that the series leaves out and keeps in what the total does. Aborts, fallbacks and restarts go the same way, so that an
// interval in which a collapse begins shows it.
#pragma once

#include <atomic>
#include <vector>

#include "harness/result.h"
#include "src/base/types.h"

namespace latchlab {

/// What a policy met with in a thread's operations.
struct Troubles {
  u64 aborts = 0;
  u64 fallbacks = 0;
  u64 restarts = 0;

  friend Troubles operator-(const Troubles& a, const Troubles& b) {
    return {a.aborts - b.aborts, a.fallbacks - b.fallbacks, a.restarts - b.restarts};
  }
};

class Meter {
 public:
  /// Forgets everything: a new phase of `threads` threads.
  void start(u32 threads);

  /// By thread `thread` only. A relaxed store of what only this thread writes: a reader may be a slice
  /// behind.
  void add(u32 thread, u64 operations) {
    Lane& lane = threads_[thread];
    lane.operations.store(lane.operations.load(kRelaxed) + operations, kRelaxed);
  }
  /// What its operations of this phase have met with so far; likewise.
  void meet(u32 thread, const Troubles& troubles) {
    Lane& lane = threads_[thread];
    lane.aborts.store(troubles.aborts, kRelaxed);
    lane.fallbacks.store(troubles.fallbacks, kRelaxed);
    lane.restarts.store(troubles.restarts, kRelaxed);
  }
  /// Thread `thread` adds no more. Relaxed: a sample that misses it is only one more interval.
  void finish(u32 thread) { threads_[thread].finished.store(true, kRelaxed); }

  /// By the timekeeper: ends an interval. `seconds` is what counts since the phase began.
  void sample(double seconds);

  [[nodiscard]] u64 operations() const;

  /// Aborts, fallbacks and restarts an operation, interval by interval.
  struct TroubleSeries {
    std::vector<double> aborts, fallbacks, restarts;
  };
  [[nodiscard]] const TroubleSeries& troubles() const { return troubles_; }

  /// Totals, rates a thread, the series and fairness; all rates are over the same `seconds`, so that those of
  /// the threads add up to the total. When nobody adds any more.
  [[nodiscard]] Throughput throughput(double seconds) const;

 private:
  struct alignas(kFalseSharingBytes) Lane {
    std::atomic<u64> operations{0};
    std::atomic<u64> aborts{0}, fallbacks{0}, restarts{0};
    std::atomic<bool> finished{false};
  };

  std::vector<Lane> threads_;
  [[nodiscard]] Troubles met() const;

  u64 sampled_operations_ = 0;
  Troubles sampled_troubles_;
  TroubleSeries troubles_;
  double sampled_seconds_ = 0;
  std::vector<double> series_;
};

}  // namespace latchlab
