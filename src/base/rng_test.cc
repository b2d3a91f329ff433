#include "src/base/rng.h"

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// Returns how many standard deviations the chi-square statistic of these counts lies above its mean, if all are
/// equally likely.
double excess(const std::vector<u64>& counts) {
  double total = 0;
  for (const u64 count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  double chi2 = 0;
  for (const u64 count : counts) {
    const double off = static_cast<double>(count) - expected;
    chi2 += off * off / expected;
  }
  const double df = static_cast<double>(counts.size() - 1);
  return (chi2 - df) / std::sqrt(2 * df);
}

TEST_CASE("every byte of the words of a stream is uniform, and so are the bytes of successive tries") {
  const Draws draws(7, 3);
  for (int byte = 0; byte < 8; ++byte) {
    std::vector<u64> by_position(256);
    std::vector<u64> by_try(256);
    std::vector<u64> pairs(65536);
    for (u64 i = 0; i < 1'000'000; ++i) {
      const u64 word = draws(i);
      ++by_position[word >> 8 * byte & 255];
      ++by_try[draws.at(i % 1000, i / 1000) >> 8 * byte & 255];
      ++pairs[(word >> 8 * byte & 255) << 8 | (draws.at(i, 1) >> 56)];
    }
    INFO("byte " << byte);
    CHECK(std::abs(excess(by_position)) < 5);
    CHECK(std::abs(excess(by_try)) < 5);
    CHECK(std::abs(excess(pairs)) < 5);
  }
}

TEST_CASE("neighbouring positions, streams and seeds differ in about half of their bits") {
  const auto flips = [](auto&& other) {
    double sum = 0;
    for (u64 i = 0; i < 10'000; ++i) sum += std::popcount(draw(1, 2, i) ^ other(i));
    return sum / 10'000;
  };
  CHECK(std::abs(flips([](u64 i) { return draw(1, 2, i + 1); }) - 32) < 0.3);
  CHECK(std::abs(flips([](u64 i) { return draw(1, 3, i); }) - 32) < 0.3);
  CHECK(std::abs(flips([](u64 i) { return draw(2, 2, i); }) - 32) < 0.3);
  CHECK(std::abs(flips([](u64 i) { return Draws(1, 2).at(i, 1); }) - 32) < 0.3);
}

TEST_CASE("a stream is a function of seed, stream and position") {
  CHECK(draw(5, 6, 7) == Draws(5, 6)(7));
  CHECK(Draws(5, 6).at(7, 0) == Draws(5, 6)(7));
  std::set<u64> words;
  for (u64 seed = 0; seed < 20; ++seed) {
    for (u64 stream = 0; stream < 20; ++stream) {
      for (u64 i = 0; i < 20; ++i) words.insert(draw(seed, stream, i));
    }
  }
  CHECK(words.size() == 20 * 20 * 20);
}

TEST_CASE("unit is below 1 and bounded below n") {
  CHECK(unit(0) == 0);
  CHECK(unit(~u64{0}) < 1);
  CHECK(bounded(~u64{0}, 10) == 9);
  CHECK(bounded(0, 10) == 0);
  CHECK(bounded(~u64{0}, 1) == 0);
  CHECK(bounded(~u64{0}, ~u64{0}) == ~u64{0} - 1);
  Rng rng(11);
  std::vector<u64> counts(7);
  double sum = 0;
  for (int i = 0; i < 700'000; ++i) {
    ++counts[rng.below(7)];
    sum += unit(rng());
  }
  CHECK(std::abs(excess(counts)) < 5);
  CHECK(std::abs(sum / 700'000 - 0.5) < 0.002);
}

}  // namespace
}  // namespace latchlab
