#pragma once
// How often a thread should speculate before it takes the lock, learned from what operations cost it.
//
// There are a few budgets to choose from; the first, 0, does not speculate at all. A thread runs windows of operations
// under the one that was cheapest so far, and now and then a short window under another:
//
//     | best, kWindow operations | best | ... | best | another, kProbe | best | ...
//      '------------ patience windows -------------'
//
// A probe that is cheaper by more than noise becomes the best. After a round of probes that all lost, patience doubles:
// a probe of the lock costs every other thread its transactions. When the best becomes much dearer than it was, or
// another is found, the world has changed, and patience begins again.
//
// An estimate is a moving mean of samples that are cut off at twice of it, so that one window with an interrupt in it
// decides nothing. A thread that does something else between operations says so, and that time is not theirs.
// Self-tuning of this kind after Diegues and Romano, "Self-tuning Intel Transactional Synchronization Extensions" (ICAC
// 2014).
#include <algorithm>
#include <array>
#include <utility>

#include "src/base/types.h"

namespace latchlab {

inline constexpr std::array<u32, 6> kBudgets{0, 2, 4, 7, 12, 20};  // restarts; 0: the lock

/// Windows in operations.
template <u32 kWindow = 1024, u32 kProbe = 64>
class BudgetLearner {
 public:
  /// Of the operation that comes.
  u32 budget() const { return kBudgets[arm_]; }

  /// After each operation. True at the end of a window, which wants the time.
  [[nodiscard]] bool count() { return --left_ == 0; }

  /// Ends the window at `now`, in nanoseconds of any clock that does not go back, and chooses for the next one.
  void end_window(u64 now) {
    if (rest_ != 0) {  // a pause ends, behind the first operation after it
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

  /// From `now` until the next operation has ended no time passes for the window. That operation is not one of its.
  void pause(u64 now) {
    if (since_ == 0 || rest_ != 0) return;
    before_ += now - since_;
    rest_ = std::exchange(left_, 1);
  }

  /// How often another budget became the best.
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

  std::array<float, kArms> cost_{};  // nanoseconds an operation; 0: never measured
  u64 since_ = 0;                    // when the window began, or went on after a pause
  u64 before_ = 0;                   // of the window, before its last pause
  u64 changes_ = 0;
  u32 left_ = kProbe;
  u32 rest_ = 0;  // of the window, behind a pause
  u32 length_ = kProbe;
  u32 arm_ = kArms - 1;
  u32 best_ = kArms - 1;
  u32 probe_ = kArms - 1;  // the lock is the first to be tried
  u32 windows_ = 0;
  u32 patience_ = kFirstPatience;
  u32 lost_ = 0;
};

}  // namespace latchlab
