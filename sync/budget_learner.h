#pragma once
// The budget of speculation, learned per thread: how often should an operation retry before it takes the lock?
//
// There are a few budgets to choose from; the first, 0, does not speculate at all. A thread runs windows of operations
// under the cheapest budget so far, and sometimes a short window under another, a probe:
//
//     | best, kWindow operations | best | ... | best | another, kProbe | best | ...
//      '------------ patience windows -------------'
//
// A probe that is cheaper by more than noise becomes the best. After a round of probes that all lost, patience doubles,
// because a probe of the lock aborts the transactions of all other threads. Patience starts over when the best becomes
// much more expensive than it was, or when another budget becomes the best: then conditions have changed.
//
// An estimate is a moving mean. A sample counts at most twice the estimate, so that one window with an interrupt
// decides nothing. A thread that does other work between operations says so (pause), and that time does not count.
//
// After Diegues and Romano, "Self-tuning Intel Transactional Synchronization Extensions" (ICAC 2014).
#include <algorithm>
#include <array>
#include <utility>

#include "src/base/types.h"

namespace latchlab {

inline constexpr std::array<u32, 6> kBudgets{0, 2, 4, 7, 12, 20};  // retries; 0 takes the lock at once

/// The learner of one thread. Both parameters are numbers of operations.
template <u32 kWindow = 1024, u32 kProbe = 64>
class BudgetLearner {
 public:
  /// Returns the budget of the next operation.
  u32 budget() const { return kBudgets[arm_]; }

  /// Counts an operation. Returns true at the end of a window; then call end_window.
  [[nodiscard]] bool count() { return --left_ == 0; }

  /// Ends the window and chooses the budget of the next one. `now` is in nanoseconds of any clock that does not go
  /// back.
  void end_window(u64 now) {
    if (rest_ != 0) {  // a pause ends after the first operation that follows it
      since_ = now;
      left_ = std::exchange(rest_, 0);
      return;
    }
    const float sample = static_cast<float>(before_ + now - since_) / static_cast<float>(length_);
    const bool timed = since_ != 0;
    before_ = 0;
    since_ = now;
    if (timed) learn(sample);
    arm_ = timed ? next() : best_;
    left_ = length_ = arm_ == best_ ? kWindow : kProbe;
  }

  /// Stops the window's clock from `now` until the next operation has ended. That operation does not count.
  void pause(u64 now) {
    if (since_ == 0 || rest_ != 0) return;
    before_ += now - since_;
    rest_ = std::exchange(left_, 1);
  }

  /// Returns the number of times that another budget became the best.
  u64 changes() const { return changes_; }

 private:
  static constexpr u32 kArms = static_cast<u32>(kBudgets.size());
  static constexpr u32 kFirstPatience = 8, kLastPatience = 512;  // windows
  static constexpr float kClearly = .95F, kDearer = 1.5F;

  void learn(float sample) {
    float& cost = cost_[arm_];
    if (arm_ == best_ && cost != 0 && sample > kDearer * cost) patience_ = kFirstPatience;
    cost = cost == 0 ? sample : cost + (std::min(sample, 2 * cost) - cost) / 4;
    if (arm_ == best_) return;
    if (cost < kClearly * cost_[best_]) {
      best_ = arm_;
      ++changes_;
      patience_ = kFirstPatience;
      lost_ = 0;
    } else if (++lost_ == kArms - 1) {
      patience_ = std::min(2 * patience_, kLastPatience);
      lost_ = 0;
    }
  }

  u32 next() {
    if (arm_ != best_) return best_;
    u32 other = (probe_ + 1) % kArms;
    if (other == best_) other = (other + 1) % kArms;
    const bool untried = cost_[other] == 0;
    if (!untried && ++windows_ < patience_) return best_;
    windows_ = 0;
    return probe_ = other;
  }

  std::array<float, kArms> cost_{};  // nanoseconds an operation; 0 if never measured
  u64 since_ = 0;                    // the time when the window began, or continued after a pause
  u64 before_ = 0;                   // the window's nanoseconds before its last pause
  u64 changes_ = 0;
  u32 left_ = kProbe;
  u32 rest_ = 0;  // the operations left in the window after the pause; 0 without a pause
  u32 length_ = kProbe;
  u32 arm_ = kArms - 1;
  u32 best_ = kArms - 1;
  u32 probe_ = kArms - 1;  // so that the lock is probed first
  u32 windows_ = 0;
  u32 patience_ = kFirstPatience;
  u32 lost_ = 0;
};

}  // namespace latchlab
