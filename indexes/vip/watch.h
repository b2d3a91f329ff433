#pragma once
// The state of one thread's learning: how well the order of the chains suits its lookups, and the phase that it is in.
//
//     learn      each key that it finds gets a count, and moves before those with fewer
//     measure    it counts the nodes that a find visits now
//     rest       it does nothing but this countdown, for nearly all of the time
//     sense      it measures again; if finds visit more nodes than after the learning, it learns again
//
// Every operation of the thread passes the time of rest and of learning, also one that finds nothing or changes the
// index. Only lookups pass the time of a sample.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/types.h"

namespace latchlab::vip {

/// An estimate of the nodes that a find visits, from a sample: within `width` of the mean with 95 % confidence.
struct Displacement {
  double mean = 0;  // 0: unknown
  double width = std::numeric_limits<double>::infinity();

  bool known() const { return mean != 0; }
  bool above(const Displacement& other) const { return mean - width > other.mean + other.width; }
};

class Watch {
 public:
  enum class Phase : u8 { kNew, kLearn, kMeasure, kSense };

  /// The interface of a maintenance task with one step a lookup, which needs no memory.
  static constexpr bool done() { return true; }
  static constexpr bool prepare(auto&) { return true; }
  static constexpr void one_done() {}
  static constexpr void release(auto&) {}

  /// Passes `count` lookups, and returns for how many of them the index must run a step.
  u64 lookups(u64 count) {
    if (rest_ >= count) [[likely]] {
      rest_ -= count;
      return 0;
    }
    return count - std::exchange(rest_, 0);
  }
  /// Stops the time, for so many operations that no run reaches the end.
  void sleep() { rest_ = ~u64{0}; }
  /// Passes `count` operations of other kinds, or lookups for which the index had to run a step and could not.
  void pass(u64 count) {
    rest_ -= std::min(rest_, count);
    if (phase_ == Phase::kLearn) left_ -= std::min(left_, count);
  }

  Phase phase() const { return phase_; }
  u32 round() const { return round_; }
  bool over() const { return left_ == 0; }

  void learn(u32 round, u64 lookups) {
    phase_ = Phase::kLearn;
    round_ = round;
    left_ = lookups;
  }
  void measure(u64 sample) { begin(Phase::kMeasure, sample); }
  /// Rests for `operations` operations, then senses.
  void rest(u32 round, u64 operations, u64 sample) {
    begin(Phase::kSense, sample);
    round_ = round;
    rest_ = operations;
  }

  /// Counts one lookup of the phase as done.
  void step() { left_ -= left_ != 0; }
  void found_after(u64 nodes) {
    ++finds_;
    nodes_ += nodes;
    squares_ += nodes * nodes;
  }
  /// Returns the estimate from at least `fewest` finds (more than none), or an unknown one.
  Displacement displacement(u64 fewest) const {
    if (finds_ < fewest) return {};
    const double n = static_cast<double>(finds_), mean = static_cast<double>(nodes_) / n;
    const double variance = std::max(0., static_cast<double>(squares_) / n - mean * mean);
    return {.mean = mean, .width = std::sqrt(2 * variance * kLogTwenty / n)};
  }

 private:
  static constexpr double kLogTwenty = 2.995732273553991;  // log(1 / (1 - .95))

  void begin(Phase phase, u64 sample) {
    phase_ = phase;
    left_ = sample;
    finds_ = nodes_ = squares_ = 0;
  }

  u64 rest_ = 0;  // operations left to rest
  u64 left_ = 0;  // lookups left in the phase
  u64 finds_ = 0, nodes_ = 0, squares_ = 0;
  u32 round_ = 0;
  Phase phase_ = Phase::kNew;
};

}  // namespace latchlab::vip
