#pragma once
// Two ways of doing the same work, of which the faster one depends on the machine, the data and the moment.
//
// A thread does its work piece by piece in the better way. Now and then it times one piece in each way, and decides
// anew:
//
//     better, untimed x patience | better, timed | other, timed | better, untimed x patience | ...
//
// Patience is short at first and after a decision to change; it doubles up to kLongest. An estimate is a moving mean in
// which a sample counts at most twice the estimate, so that one piece with an interruption decides nothing.
#include <algorithm>
#include <array>

#include "src/base/types.h"

namespace latchlab {

/// The choice of one thread.
class FasterWay {
 public:
  static constexpr u32 kShortest = 2, kLongest = 128;  // untimed pieces between two decisions

  /// Does a piece of work: calls work(way), where way is 0 or 1, and returns what it returns, the number of operations
  /// that were done. now() returns the time, in any unit. Pieces may differ in size.
  template <class Now, class Work>
  u32 run(const Now& now, const Work& work) {
    if (untimed_ > 0) {
      --untimed_;
      return work(better_);
    }
    const u32 way = tries_other_ ? 1 - better_ : better_;
    const u64 start = now();
    const u32 operations = work(way);
    if (operations != 0) note(way, static_cast<double>(now() - start) / operations);
    return operations;
  }
  /// Returns the way that was faster lately.
  u32 better() const { return better_; }

 private:
  static constexpr double kClearly = .97;  // of two ways that cost about the same, the present one stays

  void note(u32 way, double sample) {
    double& cost = cost_[way];
    cost = cost == 0 ? sample : cost + (std::min(sample, 2 * cost) - cost) / 4;
    tries_other_ = !tries_other_;
    if (tries_other_) return;
    patience_ = std::min(2 * patience_, kLongest);
    if (cost_[1 - better_] < kClearly * cost_[better_]) {
      better_ = 1 - better_;
      patience_ = kShortest;
    }
    untimed_ = patience_;
  }

  std::array<double, 2> cost_{};  // of an operation; 0 before the first sample
  u32 untimed_ = 0, patience_ = kShortest;
  u32 better_ = 0;
  bool tries_other_ = false;
};

}  // namespace latchlab
