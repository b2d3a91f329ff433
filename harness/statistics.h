#pragma once

// The few statistics that a comparison needs. All are of small samples (tens of replicates), so nothing here
// is clever.

#include <vector>

#include "src/base/types.h"

namespace latchlab {

/// The middle value, or the mean of the two in the middle. `values` must not be empty. O(n log n).
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
[[nodiscard]] Interval bootstrap_ratio(const std::vector<double>& base, const std::vector<double>& variant,
                                       u64 seed, u32 resamples = 10'000);

/// 0 .. n-1 in an order that the seed names, each order alike.
[[nodiscard]] std::vector<u32> shuffled(u32 n, u64 seed);

}  // namespace latchlab
