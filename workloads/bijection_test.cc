#include "workloads/bijection.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("a bijection reaches every number below n exactly once, for awkward n") {
  for (const u64 n : {u64{1}, u64{2}, u64{3}, u64{4}, u64{5}, u64{7}, u64{8}, u64{15}, u64{16}, u64{17}, u64{255},
                      u64{1000}, u64{4097}, u64{65535}, u64{1000003}, (u64{1} << 20) + 7}) {
    for (const u64 seed : {u64{1}, u64{2}, test_seed()}) {
      const Bijection permuted(n, seed, 9);
      std::vector<bool> reached(n);
      bool fine = true;
      for (u64 x = 0; x < n; ++x) {
        const u64 y = permuted(x);
        fine = fine && y < n && !reached[y];
        if (y < n) reached[y] = true;
      }
      INFO("n " << n << " seed " << seed);
      REQUIRE(fine);
    }
  }
}

TEST_CASE("a bijection of a huge domain stays below n and does not repeat itself") {
  for (const u64 n : {(u64{1} << 32) + 1, (u64{1} << 52), (u64{1} << 63) - 1, u64{1} << 63}) {
    const Bijection permuted(n, 3, 9);
    std::vector<u64> images;
    for (u64 x = 0; x < 10'000; ++x) images.push_back(permuted(n - 1 - x));
    std::sort(images.begin(), images.end());
    CHECK(images.back() < n);
    CHECK(std::adjacent_find(images.begin(), images.end()) == images.end());
    CHECK(images.front() < n / 1000);
    CHECK(images.back() > n / 1000 * 999);
  }
}

TEST_CASE("permuting many numbers at once gives the same images as one by one") {
  for (const u64 n : {u64{1}, u64{2}, u64{3}, u64{7}, u64{1000}, u64{65537}, u64{1000003}, u64{1} << 24,
                      (u64{1} << 32) + 1, u64{3} << 60, (u64{7} << 59) + 1, u64{1} << 62, u64{1} << 63}) {
    const Bijection permuted(n, test_seed(), 9);
    std::vector<u64> images;
    for (u64 x = 0; x < 1111; ++x) images.push_back(x % 2 == 0 ? x % n : n - 1 - x % n);
    std::vector<u64> one_by_one = images;
    for (u64& x : one_by_one) x = permuted(x);
    permuted.permute(images);
    INFO("n " << n);
    CHECK(images == one_by_one);
  }
}

/// Returns chi-square over df of numbers in [0, n) put into 64 equal ranges.
class Spread {
 public:
  explicit Spread(u64 n) : n_(n) {}
  void add(u64 x) { ++counts_[static_cast<std::size_t>(static_cast<double>(x) / static_cast<double>(n_) * 64)]; }
  [[nodiscard]] double value() const {
    double total = 0;
    for (const double count : counts_) total += count;
    double chi2 = 0;
    for (const double count : counts_) chi2 += (count - total / 64) * (count - total / 64) / (total / 64);
    return chi2 / 63;
  }

 private:
  u64 n_;
  std::vector<double> counts_ = std::vector<double>(64);
};

TEST_CASE("a bijection scatters the hottest ranks and the distances between neighbours") {
  // Over 100 seeds the mean of chi-square/df of random permutations is 1 +- 0.02. With one multiplication a round
  // instead of two it is 1.2 and above.
  for (const u64 n : {u64{16'000'000}, u64{1} << 24, u64{100'000'007}}) {
    double position = 0;
    double low_bits = 0;
    double neighbours = 0;
    double far_neighbours = 0;
    constexpr int kSeeds = 100;
    for (u64 seed = 0; seed < kSeeds; ++seed) {
      const Bijection permuted(n, seed, 9);
      Spread positions(n);
      Spread lows(64);
      Spread distances(n);
      Spread far_distances(n);
      for (u64 x = 0; x < 10'000; ++x) {
        const u64 y = permuted(x);
        positions.add(y);
        lows.add(y % 64);
        distances.add((permuted(x + 1) + n - y) % n);
        far_distances.add((permuted(x + 1024) + n - y) % n);
      }
      position += positions.value() / kSeeds;
      low_bits += lows.value() / kSeeds;
      neighbours += distances.value() / kSeeds;
      far_neighbours += far_distances.value() / kSeeds;
    }
    INFO("n " << n);
    CHECK(std::abs(position - 1) < 0.1);
    CHECK(std::abs(low_bits - 1) < 0.1);
    CHECK(std::abs(neighbours - 1) < 0.1);
    CHECK(std::abs(far_neighbours - 1) < 0.1);
  }
}

}  // namespace
}  // namespace latchlab
