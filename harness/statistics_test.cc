#include "harness/statistics.h"

#include <algorithm>
#include <map>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("median and quantiles agree with NumPy", "[statistics]") {
  CHECK(median({3}) == 3);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(quantile({1, 2, 3, 4}, 0.25) == Approx(1.75));
  CHECK(quantile({10, 20, 30, 40, 50}, 0.9) == Approx(46));
  CHECK(quantile({1, 2, 3}, 0) == 1);
  CHECK(quantile({1, 2, 3}, 1) == 3);
}

TEST_CASE("pairing takes out what slows a block down", "[statistics]") {
  const std::vector<double> base{10, 5, 20, 1};
  const std::vector<double> variant{20, 10, 40, 2};
  CHECK(paired_ratio(base, variant) == Approx(2));
  const Interval interval = bootstrap_ratio(base, variant, 1);
  CHECK(interval.low == Approx(2));
  CHECK(interval.high == Approx(2));
}

TEST_CASE("the bootstrap interval is the binomial one for a median", "[statistics]") {
  // Of 11 ordered ratios 1..11 the median of a resample is at most k with probability P(Binomial(11, k/11) >=
  // 6): k = 2: .0049, k = 3: .0363, so the 2.5 % quantile is 3, and by symmetry the other is 9.
  std::vector<double> base(11, 1.0);
  std::vector<double> variant;
  for (int i = 1; i <= 11; ++i) variant.push_back(i);
  for (const u64 seed : {1, 2, 3}) {
    const Interval interval = bootstrap_ratio(base, variant, seed);
    CHECK(interval.low == 3);
    CHECK(interval.high == 9);
  }
}

TEST_CASE("the bootstrap is a function of its seed", "[statistics]") {
  const std::vector<double> base{1, 1.1, 0.9, 1.05, 1, 1.02};
  const std::vector<double> variant{1.2, 1.25, 1.1, 1.3, 1.15, 1.21};
  const Interval once = bootstrap_ratio(base, variant, 7, 500);
  const Interval again = bootstrap_ratio(base, variant, 7, 500);
  CHECK(once.low == again.low);
  CHECK(once.high == again.high);
  CHECK(once.low <= paired_ratio(base, variant));
  CHECK(once.high >= paired_ratio(base, variant));
}

TEST_CASE("every order within a block is alike", "[statistics]") {
  std::map<std::vector<u32>, int> seen;
  for (u64 seed = 0; seed < 6000; ++seed) ++seen[shuffled(3, seed)];
  REQUIRE(seen.size() == 6);
  for (const auto& [order, count] : seen) {
    CHECK(count > 850);  // 1000 expected, standard deviation 29
    CHECK(count < 1150);
  }
  CHECK(shuffled(0, 1).empty());
  CHECK(shuffled(5, 9) == shuffled(5, 9));
}

}  // namespace
}  // namespace latchlab
