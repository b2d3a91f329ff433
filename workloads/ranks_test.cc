#include "workloads/ranks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Weight = std::function<double(double rank)>;  // ranks counted from 1

/// The cumulative weights of ranks 1..n by plain summation: the reference for the sampler.
std::vector<double> cumulative(u64 n, const Weight& weight) {
  std::vector<double> sums(n + 1);
  long double sum = 0;
  for (u64 k = 1; k <= n; ++k) {
    sum += weight(static_cast<double>(k));
    sums[k] = static_cast<double>(sum);
  }
  return sums;
}

Weight zipf_weight(double q) {
  return [=](double k) { return std::pow(k, -q); };
}

Ranks zipf_ranks(u64 n, double q) { return Ranks(n, std::make_shared<ZipfLaw>(q)); }

struct Fit {
  double deviation;  ///< deviation of chi-square from its mean, in standard deviations (Wilson and Hilferty)
  double ratio;      ///< chi-square divided by its degrees of freedom
  std::size_t buckets;
};

/// Computes chi-square of `samples` ranks over single ranks up to 64, then ranges that grow by 3 %. Each bucket has an
/// expectation of 50 or more.
Fit fit(u64 n, const Weight& weight, u64 samples, const std::function<u64(u64)>& rank) {
  const std::vector<double> sums = cumulative(n, weight);
  std::vector<u64> ends;  // last rank of each bucket, counted from 1
  u64 begin = 1;
  while (begin <= n) {
    u64 end = std::min(n, std::max(begin, begin <= 64 ? begin : begin + begin * 3 / 100));
    const auto expected = [&] { return (sums[end] - sums[begin - 1]) / sums[n] * static_cast<double>(samples); };
    while (end < n && expected() < 50) end = std::min(n, end + end / 2 + 1);
    if (expected() < 50 && !ends.empty()) {
      ends.back() = end;
    } else {
      ends.push_back(end);
    }
    begin = end + 1;
  }
  std::vector<u64> counts(ends.size());
  for (u64 i = 0; i < samples; ++i) {
    const u64 k = rank(i) + 1;
    if (k > n) return {.deviation = 1e9, .ratio = 1e9, .buckets = 0};
    ++counts[static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), k) - ends.begin())];
  }
  if (ends.size() == 1) return {.deviation = 0, .ratio = 1, .buckets = 1};
  double chi2 = 0;
  for (std::size_t b = 0; b < ends.size(); ++b) {
    const double below = b == 0 ? 0 : sums[ends[b - 1]];
    const double expected = (sums[ends[b]] - below) / sums[n] * static_cast<double>(samples);
    const double off = static_cast<double>(counts[b]) - expected;
    chi2 += off * off / expected;
  }
  const double df = static_cast<double>(ends.size() - 1);
  const double deviation = (std::cbrt(chi2 / df) - (1 - 2 / (9 * df))) / std::sqrt(2 / (9 * df));
  return {.deviation = deviation, .ratio = chi2 / df, .buckets = ends.size()};
}

constexpr double kExponents[] = {0, 1e-9, 0.5, 0.99, 1, 1 + 1e-9, 1.3, 3, 20};

TEST_CASE("zipf is exact by chi-square at every exponent, for few and many ranks") {
  for (const u64 n : {u64{1}, u64{2}, u64{3}, u64{130}, u64{1000}, u64{100'000}, u64{1'200'007}}) {
    for (const double q : kExponents) {
      const Ranks zipf = zipf_ranks(n, q);
      // The ratio of one stream scatters by .08 with 300 buckets, so the mean over four streams is checked.
      constexpr u64 kStreams = 4;
      double ratio = 0;
      std::size_t buckets = 0;
      for (u64 stream = 0; stream < kStreams; ++stream) {
        const Draws draws(42 + stream, n);
        const Fit found = fit(n, zipf_weight(q), 500'000, [&](u64 i) { return zipf(draws, i); });
        INFO("n " << n << " exponent " << q << " stream " << stream);
        CHECK(std::abs(found.deviation) < 5);
        ratio += found.ratio / kStreams;
        buckets = found.buckets;
      }
      INFO("n " << n << " exponent " << q << " buckets " << buckets);
      if (buckets > 200) CHECK(ratio < 1.2);
    }
  }
}

TEST_CASE("every other law is exact too") {
  for (const u64 n : {u64{3}, u64{1000}, u64{300'007}}) {
    const double size = static_cast<double>(n);
    const double theta = std::log(0.8) / std::log(0.2);
    const auto below = [=](double k) { return std::pow(k / size, theta); };
    const u64 hot = n / 3;
    const struct {
      const char* name;
      std::shared_ptr<const Law> law;
      Weight weight;
    } laws[] = {
        {"exponential:1e-6", std::make_shared<ExponentialLaw>(1e-6, n), [](double) { return 1; }},
        {"exponential:3.495", std::make_shared<ExponentialLaw>(3.495, n),
         [=](double k) { return std::exp(-3.495 * k / size); }},
        {"exponential:500", std::make_shared<ExponentialLaw>(500, n),
         [=](double k) { return std::exp(-500 * k / size); }},
        {"self-similar:0.2", std::make_shared<SelfSimilarLaw>(0.2, n),
         [=](double k) { return below(k) - below(k - 1); }},
        {"self-similar:0.5", std::make_shared<SelfSimilarLaw>(0.5, n), [](double) { return 1; }},
        {"steps", std::make_shared<StepLaw>(std::vector<StepLaw::Step>{{hot + 1, .8}, {n + 1, .2}}),
         [=](double k) {
           return k <= static_cast<double>(hot) ? .8 / static_cast<double>(hot) : .2 / static_cast<double>(n - hot);
         }},
        {"steps that rise", std::make_shared<StepLaw>(std::vector<StepLaw::Step>{{2, 0}, {hot + 2, 1}, {n + 1, 6}}),
         [=](double k) {
           const double first = static_cast<double>(hot);
           return k == 1 ? 0 : k <= first + 1 ? 1 / first : 6 / (size - first - 1);
         }},
    };
    for (const auto& [name, law, weight] : laws) {
      const Ranks ranks(n, law);
      const Draws draws(44, n);
      const Fit found = fit(n, weight, 500'000, [&](u64 i) { return ranks(draws, i); });
      INFO(name << " n " << n << " buckets " << found.buckets << " chi-square by degrees of freedom " << found.ratio);
      CHECK(std::abs(found.deviation) < 5);
      if (found.buckets > 200) CHECK(found.ratio < 1.2);
    }
  }
}

TEST_CASE("the chi-square test refuses the approximation of Gray et al.") {
  const u64 n = 1'000'000;
  const double q = 0.99;
  const double zeta = cumulative(n, zipf_weight(q))[n];
  const double zeta2 = cumulative(2, zipf_weight(q))[2];
  const double alpha = 1 / (1 - q);
  const double eta = (1 - std::pow(2.0 / static_cast<double>(n), 1 - q)) / (1 - zeta2 / zeta);
  const Draws draws(42, 0);
  const auto gray = [&](u64 i) -> u64 {
    const double u = unit(draws(i));
    if (u * zeta < 1) return 0;
    if (u * zeta < 1 + std::pow(0.5, q)) return 1;
    return static_cast<u64>(static_cast<double>(n) * std::pow(eta * u - eta + 1, alpha));
  };
  CHECK(fit(n, zipf_weight(q), 1'000'000, gray).deviation > 20);
}

TEST_CASE("ranks within a stratum follow the law too") {
  // The position of a rank within its stratum, from 0 to 1, has a mean just below 1/2, due to rejection. Without
  // rejection the mean is 1/2, and this test is off by 8 standard deviations or more.
  const u64 n = 1'200'007;
  for (const double q : {0.99, 1.3}) {
    const Ranks zipf = zipf_ranks(n, q);
    double weights = 0;
    double mean = 0;
    double square = 0;
    std::vector<u32> stratum_of(n);
    for (u32 s = 0; s < zipf.strata().size(); ++s) {
      const Ranks::Stratum& stratum = zipf.strata()[s];
      for (u64 offset = 0; offset < stratum.length; ++offset) {
        const double weight = std::pow(static_cast<double>(stratum.first + 1 + offset), -q);
        const double position = (static_cast<double>(offset) + 0.5) / static_cast<double>(stratum.length);
        weights += weight;
        mean += weight * position;
        square += weight * position * position;
        stratum_of[stratum.first + offset] = s;
      }
    }
    mean /= weights;
    const double variance = square / weights - mean * mean;
    const Draws draws(43, 0);
    constexpr u64 kSamples = 8'000'000;
    double sum = 0;
    for (u64 i = 0; i < kSamples; ++i) {
      const u64 rank = zipf(draws, i);
      const Ranks::Stratum& stratum = zipf.strata()[stratum_of[rank]];
      sum += (static_cast<double>(rank - stratum.first) + 0.5) / static_cast<double>(stratum.length);
    }
    const double deviation = (sum / kSamples - mean) / std::sqrt(variance / kSamples);
    INFO("exponent " << q);
    CHECK(std::abs(deviation) < 4.5);
  }
}

TEST_CASE("strata cover the ranks without gap") {
  for (const u64 n : {u64{1}, u64{128}, u64{129}, u64{1'000'000}, Ranks::kMost}) {
    const Ranks zipf = zipf_ranks(n, 0.99);
    u64 next = 0;
    bool fine = true;
    for (const Ranks::Stratum& stratum : zipf.strata()) {
      fine = fine && stratum.first == next && stratum.length > 0;
      next += stratum.length;
    }
    CHECK(fine);
    CHECK(next == n);
  }
}

TEST_CASE("a batch of ranks equals those of its positions one by one") {
  for (const double q : kExponents) {
    const Ranks zipf = zipf_ranks(1'200'007, q);
    const Draws draws(5, 5);
    std::vector<u64> batch(Ranks::kBatch);
    u64 wrong = 0;
    for (u64 i = 0; i < 100 * Ranks::kBatch; i += Ranks::kBatch) {
      zipf.fill(draws, i, batch);
      for (u64 at = 0; at < batch.size(); ++at) wrong += batch[at] != zipf(draws, i + at);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("extreme exponents and ranks stay in range") {
  const Draws draws(5, 5);
  for (const u64 n : {u64{1}, u64{2}, u64{1'000'000'007}, Ranks::kMost}) {
    for (const double q : {0.0, 1e-300, 1.0, 50.0, 1000.0, 1e300}) {
      const Ranks zipf = zipf_ranks(n, q);
      u64 largest = 0;
      for (u64 i = 0; i < 20'000; ++i) largest = std::max(largest, zipf(draws, i));
      INFO("n " << n << " exponent " << q);
      CHECK(largest < n);
      if (q >= 50) CHECK(largest == 0);
      if (q < 1e-9 && n > 2) CHECK(largest > n / 10 * 9);
    }
  }
}

}  // namespace
}  // namespace latchlab
