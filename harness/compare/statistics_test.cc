#include "harness/compare/statistics.h"

#include <algorithm>
#include <map>
#include <vector>

#include "src/base/rng.h"
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

TEST_CASE("pairing removes whatever slows a whole block down", "[statistics]") {
  const std::vector<double> base{10, 5, 20, 1};
  const std::vector<double> variant{20, 10, 40, 2};
  CHECK(paired_ratio(base, variant) == Approx(2));
  const Interval interval = bootstrap_ratio(base, variant, 1);
  CHECK(interval.low == Approx(2));
  CHECK(interval.high == Approx(2));
}

TEST_CASE("the bootstrap interval of a median is the binomial one", "[statistics]") {
  // The ratios are 1..11. The median of a resample is at most k with the probability P(Binomial(11, k/11) >= 6), which
  // is .0049 for k = 2 and .0363 for k = 3. So the 2.5 % quantile is 3, and by symmetry the 97.5 % quantile is 9.
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

TEST_CASE("the signed rank test is exact", "[statistics]") {
  const std::vector<double> ones(5, 1.0);
  CHECK(signed_rank_test(ones, {2, 3, 4, 5, 6}) == Approx(2.0 / 32));
  CHECK(signed_rank_test({2, 3, 4, 5, 6}, ones) == Approx(2.0 / 32));
  // The smallest goes the other way: 2 of 32 sign patterns have a rank sum of 0 or 1.
  CHECK(signed_rank_test(ones, {.9, 3, 4, 5, 6}) == Approx(4.0 / 32));
  CHECK(signed_rank_test(ones, {1, 1, 1, 1, 1}) == 1);                 // all pairs are equal
  CHECK(signed_rank_test(ones, {1, 2, 3, 4, 5}) == Approx(2.0 / 16));  // one pair is equal
  CHECK(signed_rank_test({1, 1}, {2, .5}) == 1);                       // ties, one to either side
  // Ranks 1.5, 1.5, 3, the first negative: 3 of 8 sign patterns have a sum of 1.5 or less.
  CHECK(signed_rank_test({1, 1, 1}, {.5, 2, 4}) == Approx(6.0 / 8));
  // Ranks 2, 2, 2, 4 are balanced: each sign has a sum of 5. With the least of the tied ranks, 1, 1, 1, 4, they would
  // not be.
  CHECK(signed_rank_test({1, 1, 1, 1}, {.5, .5, 2, 8}) == 1);
}

TEST_CASE("the rank sum test is exact while that is affordable", "[statistics]") {
  CHECK(rank_sum_test({1, 2, 3, 4}, {5, 6, 7, 8}) == Approx(2.0 / 70));
  CHECK(rank_sum_test({5, 6, 7, 8}, {1, 2, 3, 4}) == Approx(2.0 / 70));
  CHECK(rank_sum_test({1, 2, 3, 5}, {4, 6, 7, 8}) == Approx(4.0 / 70));
  CHECK(rank_sum_test({1, 2}, {3}) == Approx(2.0 / 3));
  CHECK(rank_sum_test({1, 1, 1}, {1, 1}) == 1);
  CHECK(rank_sum_test({1, 1, 2}, {2, 3, 3}) == Approx(2 * 2.0 / 20));  // 2 of 20 splits have as high a sum
}

TEST_CASE("for more values the normal approximation is close to the exact probability", "[statistics]") {
  std::vector<double> base;
  for (int i = 0; i < 30; ++i) base.push_back(i);
  // A separate program counted all splits of 60 values for the exact probabilities.
  for (const auto& [shift, exact] : {std::pair{2.5, .29279}, {5.5, .026332}, {8.5, .00097476}}) {
    std::vector<double> variant;
    for (const double value : base) variant.push_back(value + shift);
    CAPTURE(shift);
    CHECK(rank_sum_test(base, variant) == Approx(exact).epsilon(.3));
    CHECK(rank_sum_test(variant, base) == Approx(exact).epsilon(.3));
  }
  const std::vector<double> equal(30, 1.0);
  CHECK(rank_sum_test(equal, equal) == 1);
  CHECK(rank_sum_test(equal, std::vector<double>(30, 2.0)) < 1e-9);
}

TEST_CASE("many pairs are tested quickly by the normal approximation", "[statistics]") {
  // The largest number of pairs that is tested exactly, and one more: the results are close.
  for (const double shift : {0.0, .002, .005, -.01}) {
    Rng rng(7);
    std::vector<double> base, variant;
    const auto add = [&] {
      base.push_back(1);
      variant.push_back(1 + shift + .05 * (unit(rng()) - .5));
    };
    for (int i = 0; i < 200; ++i) add();
    const double exact = signed_rank_test(base, variant);
    base.push_back(1);
    variant.push_back(1 + shift + 1e-9);
    const double normal = signed_rank_test(base, variant);
    CAPTURE(shift, exact, normal);
    CHECK(normal == Approx(exact).epsilon(.05).margin(1e-4));
  }
  std::vector<double> base(100'000, 1), variant;  // an exact test of these would take an hour
  for (std::size_t i = 0; i < base.size(); ++i) variant.push_back(i % 2 == 0 ? 1.01 : .99);
  CHECK(signed_rank_test(base, variant) < 1);
  for (double& value : variant) value = 1.01;
  CHECK(signed_rank_test(base, variant) < 1e-9);
}

TEST_CASE("Holm's correction multiplies the smallest by the number of tests, the next by one less", "[statistics]") {
  CHECK(holm({}).empty());
  const std::vector<double> corrected = holm({.01, .04, .03});
  CHECK(corrected[0] == Approx(.03));
  CHECK(corrected[2] == Approx(.06));
  CHECK(corrected[1] == Approx(.06));  // .04, but at least the one before it
  CHECK(holm({.6, .7})[1] == 1);
}

TEST_CASE("samples without pairs are compared by their medians", "[statistics]") {
  CHECK(unpaired_ratio({1, 2, 3}, {4, 4, 8, 9}) == Approx(3));
  const Interval interval = bootstrap_unpaired({10, 10.1, 9.9, 10, 10.2}, {20, 20.2, 19.8}, 1, 500);
  CHECK(interval.low >= 19.8 / 10.2);
  CHECK(interval.high <= 20.2 / 9.9);
  CHECK(interval.low < 2);
  CHECK(interval.high > 2);
}

TEST_CASE("all orders within a block are equally likely", "[statistics]") {
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
