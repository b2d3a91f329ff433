#pragma once
// What one thread knows of how well the order of the chains suits its lookups, and what it does next:
//
//     learn      every key that it finds gets a count, and moves up past those with fewer
//     measure    how many nodes a find visits now
//     rest       nothing but this countdown, for nearly all of the time
//     sense      measure again; more than after the learning: learn once more
//
// Every operation of the thread passes the time of rest and learning, also those that find nothing or change the index;
// lookups that of a sample.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/base/types.h"

namespace latchlab::vip {

/// Nodes a find visits, from a sample: within `width` of the mean with 95 % confidence.
struct Displacement {
  double mean = 0;  // 0: unknown
  double width = std::numeric_limits<double>::infinity();

  bool known() const { return mean != 0; }
  bool above(const Displacement& other) const { return mean - width > other.mean + other.width; }
};

class Watch {
 public:
  enum class Phase : u8 { kNew, kLearn, kMeasure, kSense };

  /// A task of one step a lookup, for which nothing is made.
  static constexpr bool done() { return true; }
  static constexpr bool prepare(auto&) { return true; }
  static constexpr void one_done() {}
  static constexpr void release(auto&) {}

  /// So many lookups pass: the index is to see so many of their keys.
  u64 lookups(u64 count) {
    if (rest_ >= count) [[likely]] {
      rest_ -= count;
      return 0;
    }
    return count - std::exchange(rest_, 0);
  }
  /// No time passes any more, as far as anybody will notice.
  void sleep() { rest_ = ~u64{0}; }
  /// So many operations of other kinds pass, or lookups that the index was to see and could not.
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
  /// For so many operations; then it senses.
  void rest(u32 round, u64 operations, u64 sample) {
    begin(Phase::kSense, sample);
    round_ = round;
    rest_ = operations;
  }

  /// One lookup of the phase is done.
  void step() { left_ -= left_ != 0; }
  void found_after(u64 nodes) {
    ++finds_;
    nodes_ += nodes;
    squares_ += nodes * nodes;
  }
  /// Of at least so many finds (more than none), or unknown.
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

  u64 rest_ = 0;  // operations
  u64 left_ = 0;  // lookups of the phase
  u64 finds_ = 0, nodes_ = 0, squares_ = 0;
  u32 round_ = 0;
  Phase phase_ = Phase::kNew;
};

}  // namespace latchlab::vip
