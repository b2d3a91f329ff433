#pragma once
// A log-linear histogram of measured times (as HdrHistogram, G. Tene):
//
//   1. each value below 64 has a bucket of its own;
//   2. above that, every power of two has 32 buckets, so a bucket is at most 1/32 of its values wide;
//   3. every 64-bit value fits;
//   4. adding a value costs a count and two comparisons;
//   5. the sum of the threads' histograms is the histogram of all their values.
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
  /// The exact mean; 0 for an empty histogram.
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  /// The exact extremes. An empty histogram returns the largest u64 as its minimum and 0 as its maximum.
  u64 min() const { return min_; }
  u64 max() const { return max_; }

  /// Returns the value with this rank, 1 (the smallest) to count(). The value is exact, or the largest value of its
  /// bucket. O(buckets).
  u64 at_rank(u64 rank) const;
  /// Returns the rank of the percentile, given in thousandths of a percent, rounded up. `beyond` more values count as
  /// larger than every value here.
  u64 rank_of(u64 thousandths, u64 beyond = 0) const {
    return ((count_ + beyond) * thousandths + 99'999) / 100'000;  // integers: exactly 999 of 1000 for 99.9 %
  }

  /// Returns the buckets that are not empty: the largest value of each, and how many values it holds.
  std::vector<std::pair<u64, u64>> buckets() const;

 private:
  static constexpr u32 kSteps = 32, kStepBits = 5;  // buckets in a power of two, and their logarithm
  static constexpr u32 kExact = 2 * kSteps;         // smaller values have a bucket of their own
  static constexpr u32 kBuckets = kExact + (64 - kStepBits - 1) * kSteps;

  static u32 index_of(u64 value) {
    if (value < kExact) return static_cast<u32>(value);
    const u32 shift = static_cast<u32>(std::bit_width(value)) - kStepBits - 1;
    return (shift + 1) * kSteps + static_cast<u32>(value >> shift) - kSteps;
  }
  /// Returns the largest value of a bucket.
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
