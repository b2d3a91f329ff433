#include "workloads/distribution.h"

#include <algorithm>
#include <set>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

Distribution parsed(std::string_view text) { return Distribution(Spec::parse(text)); }

TEST_CASE("distributions parse") {
  CHECK(parsed("uniform").exponent() == 0);
  CHECK(parsed("zipf:0").exponent() == 0);
  CHECK(parsed("zipf:0.99").exponent() == 0.99);
  CHECK(parsed("zipf:1").exponent() == 1);
  CHECK(parsed("zipf:3").exponent() == 3);
}

TEST_CASE("wrong distributions are refused in one line that says what would be right") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(parsed("zipff:1"), Contains("zipff") && Contains("did you mean 'zipf'"));
  CHECK_THROWS_WITH(parsed("pareto"), Contains("uniform and zipf:Q"));
  for (const char* text : {"zipf", "zipf:-1", "zipf:nan", "zipf:inf", "zipf:1e999", "zipf:x", "zipf:1x",
                           "zipf:1,skew=2", "uniform:1", "uniform,a=1", "zipf:q=1"}) {
    INFO(text);
    CHECK_THROWS_AS(parsed(text), InputError);
  }
}

TEST_CASE("the popular records are scattered, and the same in every phase") {
  const u64 records = 100'003;
  const Popularity popularity(parsed("zipf:1.2"), records, 7);
  std::vector<u64> hottest(10);
  for (u64 rank = 0; rank < hottest.size(); ++rank) hottest[rank] = popularity.record_of_rank(rank);
  for (const u64 phase : {1, 2}) {
    const Draws draws(7, phase);
    std::vector<u64> counts(records);
    for (u64 i = 0; i < 200'000; ++i) ++counts[popularity(draws, i)];
    const auto most = std::max_element(counts.begin(), counts.end());
    CHECK(static_cast<u64>(most - counts.begin()) == hottest[0]);
    CHECK(counts[hottest[0]] > counts[hottest[4]]);
    CHECK(counts[hottest[1]] > counts[hottest[9]]);
  }
  std::sort(hottest.begin(), hottest.end());
  CHECK(hottest.front() < records / 2);
  CHECK(hottest.back() > records / 2);
  CHECK(Popularity(parsed("zipf:1.2"), records, 8).record_of_rank(0) != popularity.record_of_rank(0));
}

TEST_CASE("a batch of records is what its positions give one by one") {
  const Draws draws(3, 3);
  for (const char* text : {"uniform", "zipf:0.5", "zipf:1"}) {
    const Popularity popularity(parsed(text), 1000, 7);
    std::vector<u64> batch(100);
    popularity.fill(draws, 77, batch);
    for (u64 at = 0; at < batch.size(); ++at) REQUIRE(batch[at] == popularity(draws, 77 + at));
  }
}

TEST_CASE("uniform reaches every record about as often") {
  const Popularity popularity(parsed("uniform"), 100, 7);
  std::vector<u64> counts(100);
  for (u64 i = 0; i < 1'000'000; ++i) ++counts[popularity(Draws(1, 1), i)];
  CHECK(*std::min_element(counts.begin(), counts.end()) > 9'500);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 10'500);
}

}  // namespace
}  // namespace latchlab
