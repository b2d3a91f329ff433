#include "harness/compare/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
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

/// Draws as many values as there are, with replacement.
void draw_again(const std::vector<double>& observed, Rng& rng, std::vector<double>& drawn) {
  drawn.resize(observed.size());
  for (double& value : drawn) value = observed[rng.below(observed.size())];
}

/// Returns the middle 95 % of `resamples` values of `statistic`, which draws a new resample at each call.
Interval percentiles(u32 resamples, auto&& statistic) {
  std::vector<double> values(resamples);
  for (double& value : values) value = statistic();
  return {.low = quantile(values, 0.025), .high = quantile(values, 0.975)};
}

/// Returns twice the rank of each value; the smallest has 2. Ties share the mean of their ranks, and doubling makes
/// every mean a whole number.
std::vector<u32> doubled_ranks(const std::vector<double>& values) {
  std::vector<u32> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return values[a] < values[b]; });
  std::vector<u32> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<u32>(first + 1 + end);
    first = end;
  }
  return ranks;
}

/// Returns the two-sided p-value of the observed sum; probability[s] is the probability of the sum s.
double both_sides(const std::vector<double>& probability, std::size_t observed) {
  const auto at = probability.begin() + static_cast<std::ptrdiff_t>(observed);
  const double below = std::accumulate(probability.begin(), at + 1, 0.0);
  const double above = std::accumulate(at, probability.end(), 0.0);
  return std::min(1.0, 2 * std::min(below, above));
}

/// Returns the two-sided p-value of a sum of doubled ranks, `apart` from the mean of a normal distribution.
double beyond(double apart, double deviation) {
  if (deviation == 0) return 1;  // all are equal
  return std::erfc(std::max(0.0, apart - 1) / deviation /
                   std::numbers::sqrt2);  // continuity correction: half a rank, doubled
}

/// Returns the distribution of the sum of n1 doubled ranks that are drawn without replacement: entry s is the
/// probability of the sum s. No sum exceeds `most`.
std::vector<double> sums_of_drawn(const std::vector<u32>& ranks, std::size_t n1, std::size_t most) {
  // chosen[k][s] counts the ways to choose k of the ranks seen so far with the sum s.
  std::vector<std::vector<double>> chosen(n1 + 1, std::vector<double>(most + 1));
  chosen[0][0] = 1;
  for (std::size_t seen = 0; seen < ranks.size(); ++seen) {
    for (std::size_t k = std::min(n1, seen + 1); k > 0; --k) {
      for (std::size_t sum = most; sum >= ranks[seen]; --sum) chosen[k][sum] += chosen[k - 1][sum - ranks[seen]];
    }
  }
  std::vector<double>& last = chosen[n1];
  const double ways = std::accumulate(last.begin(), last.end(), 0.0);
  for (double& value : last) value /= ways;
  return last;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(std::floor(position));
  std::nth_element(values.begin(), below, values.end());
  const double above = below + 1 == values.end() ? *below : *std::min_element(below + 1, values.end());
  return std::lerp(*below, above, position - std::floor(position));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double paired_ratio(const std::vector<double>& base, const std::vector<double>& variant) {
  return median(ratios(base, variant));
}

Interval bootstrap_ratio(const std::vector<double>& base, const std::vector<double>& variant, u64 seed, u32 resamples) {
  const std::vector<double> observed = ratios(base, variant);
  Rng rng(seed);
  std::vector<double> drawn;
  return percentiles(resamples, [&] {
    draw_again(observed, rng, drawn);
    return median(drawn);
  });
}

double unpaired_ratio(const std::vector<double>& base, const std::vector<double>& variant) {
  return median(variant) / median(base);
}

Interval bootstrap_unpaired(const std::vector<double>& base, const std::vector<double>& variant, u64 seed,
                            u32 resamples) {
  Rng rng(seed);
  std::vector<double> drawn_base;
  std::vector<double> drawn_variant;
  return percentiles(resamples, [&] {
    draw_again(base, rng, drawn_base);
    draw_again(variant, rng, drawn_variant);
    return unpaired_ratio(drawn_base, drawn_variant);
  });
}

double signed_rank_test(const std::vector<double>& base, const std::vector<double>& variant) {
  std::vector<double> sizes;  // absolute logarithms of the ratios
  std::vector<bool> positive;
  for (const double ratio : ratios(base, variant)) {
    if (ratio == 1) continue;
    sizes.push_back(std::abs(std::log(ratio)));
    positive.push_back(ratio > 1);
  }
  const std::vector<u32> ranks = doubled_ranks(sizes);
  std::size_t observed = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) observed += positive[i] ? ranks[i] : 0;
  // If both are equal, each rank is in the sum with probability 1/2.
  constexpr std::size_t kExact = 200;
  if (ranks.size() > kExact) {
    double sum = 0, squares = 0;
    for (const double rank : ranks) sum += rank, squares += rank * rank;
    return beyond(std::abs(static_cast<double>(observed) - sum / 2), std::sqrt(squares) / 2);
  }
  std::vector<double> probability{1};
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    probability.resize(probability.size() + ranks[i]);
    for (std::size_t sum = probability.size(); sum-- > 0;) {
      probability[sum] = .5 * (probability[sum] + (sum >= ranks[i] ? probability[sum - ranks[i]] : 0));
    }
  }
  return both_sides(probability, observed);
}

double rank_sum_test(const std::vector<double>& base, const std::vector<double>& variant) {
  std::vector<double> all = variant;
  all.insert(all.end(), base.begin(), base.end());
  const std::vector<u32> ranks = doubled_ranks(all);
  const std::size_t n1 = variant.size();
  const std::size_t observed = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n1), 0u);
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), 0u);
  constexpr std::size_t kExact = 50;
  if (all.size() <= kExact) return both_sides(sums_of_drawn(ranks, n1, most), observed);
  // Mean and variance of the sum of n1 numbers drawn from `ranks`. They hold with ties, too.
  const auto n = static_cast<double>(all.size());
  const double mean = static_cast<double>(most) / n;
  double spread = 0;
  for (const u32 rank : ranks) spread += (rank - mean) * (rank - mean) / n;
  const auto drawn = static_cast<double>(n1);
  return beyond(std::abs(static_cast<double>(observed) - drawn * mean),
                std::sqrt(drawn * (n - drawn) / (n - 1) * spread));
}

std::vector<double> holm(const std::vector<double>& probabilities) {
  const std::size_t n = probabilities.size();
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return probabilities[a] < probabilities[b]; });
  std::vector<double> corrected(n);
  double most = 0;  // a corrected probability is at least the one before it
  for (std::size_t i = 0; i < n; ++i) {
    most = std::max(most, std::min(1.0, static_cast<double>(n - i) * probabilities[order[i]]));
    corrected[order[i]] = most;
  }
  return corrected;
}

std::vector<u32> shuffled(u32 n, u64 seed) {
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(seed);
  for (u32 i = n; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace latchlab
