// How far the threads are and how fast they go, while they go. Each thread adds the operations that it has
// done to a number on a line of its own after every slice. The timekeeper reads them every sampling interval,
// together with the seconds that count (rounds.h):
//
//     rate of an interval = new operations / new seconds
//
// so that the series leaves out and keeps in what the total does.
#pragma once

#include <atomic>
#include <vector>

#include "harness/result.h"
#include "src/base/types.h"

namespace latchlab {

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
  /// Thread `thread` adds no more. Relaxed: a sample that misses it is only one more interval.
  void finish(u32 thread) { threads_[thread].finished.store(true, kRelaxed); }

  /// By the timekeeper: ends an interval. `seconds` is what counts since the phase began.
  void sample(double seconds);

  [[nodiscard]] u64 operations() const;

  /// Totals, rates a thread, the series and fairness; all rates are over the same `seconds`, so that those of
  /// the threads add up to the total. When nobody adds any more.
  [[nodiscard]] Throughput throughput(double seconds) const;

 private:
  struct alignas(kFalseSharingBytes) Lane {
    std::atomic<u64> operations{0};
    std::atomic<bool> finished{false};
  };

  std::vector<Lane> threads_;
  u64 sampled_operations_ = 0;
  double sampled_seconds_ = 0;
  std::vector<double> series_;
};

}  // namespace latchlab
