// Who does which operations of a stream: whoever asks gets the next ones. So a thread that is slow, or loses its processor,
// is dealt less; what is done is at any moment the beginning of the stream, but for what threads hold, and a run of N
// operations does the next N, however many threads do them.
//
// It matters most where the index is a window that moves on (workloads/stream.h). Threads that went on by themselves would
// drift apart, and an erase that overtakes the insert of its key leaves that key behind. So such a window is to be long
// beside what threads hold: they make fewer operations ready for a round then.
#pragma once

#include <algorithm>
#include <atomic>

#include "harness/step.h"
#include "src/base/types.h"

namespace latchlab {

class Dealer {
 public:
  struct Hand {
    u64 first = 0;
    u32 count = 0;
  };

  /// For `threads` threads and the operations from 0 to `end`; `window`: how many records the index holds while the stream
  /// replaces them, 0 where it does not.
  Dealer(u32 threads, u64 window, u64 end)
      : size_(end), end_(end), round_(window == 0 ? kRoundSteps : round_within(window, threads)) {}

  /// Operations that a thread may hold, and should have before a round begins: a multiple of kSliceSteps, at most kRoundSteps.
  [[nodiscard]] u32 round() const { return round_; }

  /// The next ones, a multiple of kSliceSteps of them that `room` holds, or what there is before the end. Any thread, at any
  /// time.
  [[nodiscard]] Hand deal(u32 room) {
    const u32 most = room / kSliceSteps * kSliceSteps;
    const u64 first = next_.fetch_add(most, kRelaxed);   // relaxed: the number is the whole message
    if (first >= end_) return {};
    return {.first = first, .count = static_cast<u32>(std::min<u64>(most, end_ - first))};
  }

  /// The first one that nobody was dealt. While nobody asks.
  [[nodiscard]] u64 next() const { return next_.load(kRelaxed); }   // relaxed: nobody asks

  /// Deals `count` more at most, also if it was to deal less before. While nobody asks.
  void end_after(u64 count) {
    const u64 next = std::min(next_.load(kRelaxed), end_);   // relaxed: nobody asks
    next_.store(next, kRelaxed);                             // likewise
    end_ = next + std::min(count, size_ - next);
  }

 private:
  /// All threads together hold at most a sixteenth of the window, but each a slice.
  static u32 round_within(u64 window, u32 threads) {
    const u64 share = window / 16 / threads / kSliceSteps * kSliceSteps;
    return static_cast<u32>(std::clamp<u64>(share, kSliceSteps, kRoundSteps));
  }

  const u64 size_;   // of the stream
  u64 end_;
  const u32 round_;
  alignas(kFalseSharingBytes) std::atomic<u64> next_{0};
};

}  // namespace latchlab
