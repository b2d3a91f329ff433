// How far the threads are and how fast they go, while they go. Each thread adds to two numbers on lines of
// its own after every slice: operations done, and nanoseconds in which it did them. The timekeeper reads them
// every sampling interval:
//
//     rate of an interval = threads still running * sum of new operations / sum of new nanoseconds
//
// which leaves out what happened outside timed slices just as the totals do, and does not mind that a thread
// that waits for its turn on a shared processor adds nothing for a while.
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

  /// By thread `thread` only. Relaxed stores of what only this thread writes: a reader may be a slice behind.
  void add(u32 thread, u64 operations, u64 nanoseconds) {
    Lane& lane = threads_[thread];
    lane.operations.store(lane.operations.load(kRelaxed) + operations, kRelaxed);
    lane.nanoseconds.store(lane.nanoseconds.load(kRelaxed) + nanoseconds, kRelaxed);
  }
  void finish(u32 thread) { threads_[thread].finished.store(true, kRelaxed); }

  /// By the timekeeper: ends an interval.
  void sample(u32 threads);

  [[nodiscard]] u64 operations() const;

  /// Totals, rates a thread, the series and fairness; `seconds` is the timed time, averaged over the threads.
  /// When nobody adds any more.
  [[nodiscard]] Throughput throughput() const;

 private:
  struct alignas(kFalseSharingBytes) Lane {
    std::atomic<u64> operations{0};
    std::atomic<u64> nanoseconds{0};
    std::atomic<bool> finished{false};
  };

  std::vector<Lane> threads_;
  u64 sampled_operations_ = 0;
  u64 sampled_nanoseconds_ = 0;
  std::vector<double> series_;
};

}  // namespace latchlab
