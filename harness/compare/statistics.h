#pragma once

// The few statistics that a comparison needs. All are of small samples (tens of replicates), so nothing here
// is clever, and tests are exact where that is affordable: no small sample is large enough for a normal distribution to
// be taken on trust.

#include <vector>

#include "src/base/types.h"

namespace latchlab {

/// The middle value, or the mean of the two in the middle. `values` must not be empty. O(n).
[[nodiscard]] double median(std::vector<double> values);

/// The q-quantile, 0 <= q <= 1, with linear interpolation between order statistics (type 7, as R and NumPy
/// do).
[[nodiscard]] double quantile(std::vector<double> values, double q);

struct Interval {
  double low = 0;
  double high = 0;
};

/// The ratio of `variant` to `base`, measured in the same blocks: the median over blocks of variant[i] /
/// base[i]. Pairing takes out what slows a whole block down. Both must have the same size, not 0, and no zero
/// in `base`.
[[nodiscard]] double paired_ratio(const std::vector<double>& base, const std::vector<double>& variant);

/// A 95 % interval of paired_ratio by the percentile bootstrap over blocks: `resamples` times, as many blocks
/// are drawn with replacement. A function of the seed. With fewer than about six blocks it is too narrow;
/// with one it has no width.
[[nodiscard]] Interval bootstrap_ratio(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                       u32 resamples = 10'000);

/// The same where nothing pairs the samples: the ratio of their medians, and both are drawn again. The sizes may
/// differ.
[[nodiscard]] double unpaired_ratio(const std::vector<double>& base, const std::vector<double>& variant);
[[nodiscard]] Interval bootstrap_unpaired(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                          u32 resamples = 10'000);

/// Wilcoxon's signed rank test of the ratios variant[i] / base[i] against 1: the probability, if both were alike, of
/// ranks as uneven as these, in either direction. Exact, ties included, up to 200 pairs, which takes O(n^3); beyond
/// that by the normal distribution with both corrections. Equal pairs say nothing and are left out, 1 if there are no
/// others. All values > 0.
[[nodiscard]] double signed_rank_test(const std::vector<double>& base, const std::vector<double>& variant);

/// Mann and Whitney's test of two samples, both sides; neither may be empty. Exact, ties included, up to 50 values in
/// all, beyond that by the normal distribution with both corrections.
[[nodiscard]] double rank_sum_test(const std::vector<double>& base, const std::vector<double>& variant);

/// Holm's correction of several tests, each in its place: comparing them with a level keeps the probability of any
/// false rejection at that level.
[[nodiscard]] std::vector<double> holm(const std::vector<double>& probabilities);

/// 0 .. n-1 in an order that the seed names, each order alike.
[[nodiscard]] std::vector<u32> shuffled(u32 n, u64 seed);

}  // namespace latchlab
