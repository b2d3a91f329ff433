#include "harness/loop/histogram.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("the value at a rank is at most a thirty-second too large", "[histogram]") {
  std::mt19937_64 random(test_seed());
  for (const double spread : {3.0, 20.0, 63.0}) {
    Histogram histogram;
    std::vector<u64> values;
    for (int i = 0; i < 20'000; ++i) {
      const double bits = std::uniform_real_distribution<double>(0, spread)(random);
      values.push_back(static_cast<u64>(std::exp2(bits)));
      histogram.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const u64 rank : {1, 2, 20, 2000, 10'000, 18'000, 19'800, 19'980, 19'999, 20'000}) {
      CAPTURE(spread, rank);
      const u64 wanted = values[rank - 1], found = histogram.at_rank(rank);
      CHECK(found >= wanted);
      CHECK(found - wanted <= wanted / 32);
      if (wanted < 64) CHECK(found == wanted);
    }
    CHECK(histogram.count() == values.size());
    CHECK(histogram.min() == values.front());
    CHECK(histogram.max() == values.back());
    double sum = 0;
    for (const u64 value : values) sum += static_cast<double>(value);
    CHECK(histogram.mean() == Approx(sum / 20'000));
  }
}

TEST_CASE("a value's bucket contains the largest value that it reports, and the next value is in another",
          "[histogram]") {
  std::vector<u64> values{0, 1, 63, 64, 65, 127, 128, 129, ~u64{0}, ~u64{0} - 1};
  for (u32 bit = 6; bit < 64; ++bit) {
    const u64 power = u64{1} << bit;
    values.insert(values.end(), {power - 1, power, power + 1, power + power / 32 - 1, power + power / 32});
  }
  for (const u64 value : values) {
    CAPTURE(value);
    Histogram one;
    one.add(value);
    REQUIRE(one.buckets().size() == 1);
    const u64 last = one.buckets().front().first;
    CHECK(last >= value);
    CHECK(last - value <= value / 32);
    CHECK(one.at_rank(1) == value);  // the largest value is exact
    one.add(last);
    CHECK(one.buckets().size() == 1);
    if (last == ~u64{0}) continue;
    one.add(last + 1);
    CHECK(one.buckets().size() == 2);
  }
}

TEST_CASE("the sum of two histograms is the histogram of all values", "[histogram]") {
  Histogram all, one, other;
  for (u64 i = 1; i < 5000; ++i) {
    all.add(i * i);
    (i % 3 == 0 ? one : other).add(i * i);
  }
  one += other;
  CHECK(one.buckets() == all.buckets());
  CHECK(one.count() == all.count());
  CHECK(one.mean() == Approx(all.mean()));
  CHECK(one.min() == all.min());
  CHECK(one.max() == all.max());
}

TEST_CASE("an empty histogram has no mean and no buckets, and adding it changes nothing", "[histogram]") {
  const Histogram none;
  CHECK(none.count() == 0);
  CHECK(none.mean() == 0);
  CHECK(none.buckets().empty());
  Histogram sum;
  sum.add(7);
  sum += none;
  CHECK(sum.min() == 7);
  CHECK(sum.max() == 7);
}

}  // namespace
}  // namespace latchlab
