#pragma once
// How often which time was measured: a log-linear histogram (as HdrHistogram's, G. Tene). Values below 64 have a bucket
// each; above, every power of two has 32, so that a bucket is at most 1/32 of its values wide. All of 64 bits fits,
// adding is a count and two comparisons, and histograms of several threads add up to that of all.
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "src/base/types.h"

namespace latchlab {

class Histogram {
 public:
  void add(u64 value) {
    ++bucket_[index_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
  }
  Histogram& operator+=(const Histogram& more);

  u64 count() const { return count_; }
  /// Exact; 0 of nothing.
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// Exact. Of nothing: the largest and the smallest number there is.
  u64 min() const { return min_; }
  u64 max() const { return max_; }

  /// The value with this rank, 1 to count(), from the smallest on: exact, or the largest of its bucket. O(buckets).
  u64 at_rank(u64 rank) const;
  /// The rank that `thousandths` of a percent of the values do not exceed, rounded up; with so many more `beyond` all
  /// of them.
  u64 rank_of(u64 thousandths, u64 beyond = 0) const {
    return ((count_ + beyond) * thousandths + 99'999) / 100'000;  // whole: 999 of 1000 for 99.9
  }

  /// The buckets that hold something: the largest value of each, and how many it holds.
  std::vector<std::pair<u64, u64>> buckets() const;

 private:
  static constexpr u32 kSteps = 32, kStepBits = 5;  // of a power of two
  static constexpr u32 kExact = 2 * kSteps;         // values with a bucket of their own
  static constexpr u32 kBuckets = kExact + (64 - kStepBits - 1) * kSteps;

  static u32 index_of(u64 value) {
    if (value < kExact) return static_cast<u32>(value);
    const u32 shift = static_cast<u32>(std::bit_width(value)) - kStepBits - 1;
    return (shift + 1) * kSteps + static_cast<u32>(value >> shift) - kSteps;
  }
  /// The largest value of a bucket.
  static u64 last_of(u32 index) {
    if (index < kExact) return index;
    const u32 shift = index / kSteps - 1;
    return ((u64{index % kSteps + kSteps} + 1) << shift) - 1;
  }

  std::array<u64, kBuckets> bucket_{};
  u64 count_ = 0;
  double sum_ = 0;
  u64 min_ = ~u64{0};
  u64 max_ = 0;
};

}  // namespace latchlab
