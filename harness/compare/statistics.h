#pragma once

// The few statistics that a comparison needs. Samples are small (tens of replicates), so the code is simple rather than
// fast. Tests are exact where that is affordable: a normal approximation is not reliable for a small sample.

#include <vector>

#include "src/base/types.h"

namespace latchlab {

/// Returns the middle value, or the mean of the two in the middle. `values` must not be empty. O(n).
[[nodiscard]] double median(std::vector<double> values);

/// Returns the q-quantile, 0 <= q <= 1, with linear interpolation between order statistics (type 7, the default of R
/// and NumPy). `values` must not be empty.
[[nodiscard]] double quantile(std::vector<double> values, double q);

struct Interval {
  double low = 0;
  double high = 0;
};

/// Returns the median over blocks i of variant[i] / base[i]. Pairing removes whatever slows a whole block down. Both
/// sizes must be equal and not 0; `base` must not contain 0.
[[nodiscard]] double paired_ratio(const std::vector<double>& base, const std::vector<double>& variant);

/// Returns a 95 % interval of paired_ratio, by the percentile bootstrap over blocks. Each of `resamples` resamples
/// draws as many blocks as there are, with replacement. The result depends on the arguments only, `seed` among them.
/// With fewer than about six blocks the interval is too narrow; with one it has no width.
[[nodiscard]] Interval bootstrap_ratio(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                       u32 resamples = 10'000);

/// Returns the ratio of the medians of two samples without pairs. The sizes may differ; neither may be 0.
[[nodiscard]] double unpaired_ratio(const std::vector<double>& base, const std::vector<double>& variant);
/// Returns a 95 % interval of unpaired_ratio, by the percentile bootstrap; each resample draws both samples anew.
[[nodiscard]] Interval bootstrap_unpaired(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                                          u32 resamples = 10'000);

/// Returns the two-sided p-value of Wilcoxon's signed rank test of the ratios variant[i] / base[i] against 1. It is
/// exact up to 200 pairs, ties included, which takes O(n^3). Beyond that it uses the normal distribution, corrected for
/// ties and continuity. Equal pairs are left out; without other pairs the result is 1. All values must be > 0.
[[nodiscard]] double signed_rank_test(const std::vector<double>& base, const std::vector<double>& variant);

/// Returns the two-sided p-value of Mann and Whitney's test of two samples, neither of them empty. It is exact up to 50
/// values in all, ties included. Beyond that it uses the normal distribution, corrected for ties and continuity.
[[nodiscard]] double rank_sum_test(const std::vector<double>& base, const std::vector<double>& variant);

/// Returns the probabilities of several tests, corrected by Holm's method, in the same order. If each is compared with
/// a level, the probability of any false rejection is at most that level.
[[nodiscard]] std::vector<double> holm(const std::vector<double>& probabilities);

/// Returns 0 .. n-1 in a random order that depends on the seed; all orders are equally likely.
[[nodiscard]] std::vector<u32> shuffled(u32 n, u64 seed);

}  // namespace latchlab
