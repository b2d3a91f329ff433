#include "harness/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/base/rng.h"

namespace latchlab {

namespace {

std::vector<double> ratios(const std::vector<double>& base, const std::vector<double>& variant) {
  std::vector<double> result(base.size());
  for (std::size_t i = 0; i < base.size(); ++i) result[i] = variant[i] / base[i];
  return result;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - std::floor(position));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double paired_ratio(const std::vector<double>& base, const std::vector<double>& variant) {
  return median(ratios(base, variant));
}

Interval bootstrap_ratio(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                         u32 resamples) {
  const std::vector<double> observed = ratios(base, variant);
  Rng rng(seed);
  std::vector<double> medians(resamples);
  std::vector<double> drawn(observed.size());
  for (double& m : medians) {
    for (double& ratio : drawn) ratio = observed[rng.below(observed.size())];
    m = median(drawn);
  }
  return {.low = quantile(medians, 0.025), .high = quantile(medians, 0.975)};
}

std::vector<u32> shuffled(u32 n, u64 seed) {
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed);
  for (u32 i = n; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace latchlab
