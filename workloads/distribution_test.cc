#include "workloads/distribution.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

Distribution distribution(std::string_view text) { return Distribution(Spec::parse(text)); }

TEST_CASE("a distribution without a skew has no law") {
  for (const char* text : {"uniform", "zipf:0", "zipf:-0"}) {
    INFO(text);
    CHECK(distribution(text).law(10) == nullptr);
  }
  CHECK(distribution("zipf:0.99").law(10) != nullptr);
  CHECK(distribution("latest:0").law(10) != nullptr);
}

TEST_CASE("wrong distributions are refused in one line that says what would be right") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(distribution("zipff:1"), Contains("zipff") && Contains("did you mean 'zipf'"));
  CHECK_THROWS_WITH(distribution("pareto"), Contains("there are uniform, zipf:Q"));
  CHECK_THROWS_WITH(distribution("zipf"), Contains("needs its exponent, a number of 0 or more, as in zipf:0.99"));
  CHECK_THROWS_WITH(distribution("hotspot:1"), Contains("'1' must be between 0 and 1, as in hotspot:0.2"));
  CHECK_THROWS_WITH(distribution("hotspot:0.2,hits=1.1"), Contains("hits=1.1 must be a number from 0 to 1"));
  for (const char* text : {"zipf",
                           "zipf:-1",
                           "zipf:nan",
                           "zipf:inf",
                           "zipf:1e999",
                           "zipf:x",
                           "zipf:1x",
                           "zipf:1,skew=2",
                           "uniform:1",
                           "uniform,a=1",
                           "zipf:q=1",
                           "latest:-1",
                           "latest:x",
                           "exponential",
                           "exponential:0",
                           "exponential:1e10",
                           "self-similar",
                           "self-similar:0",
                           "self-similar:0.6",
                           "hotspot:0",
                           "hotspot:-1",
                           "hotspot:0.2,hits=nan",
                           "hotspot:0.2,hot=1",
                           "histogram"}) {
    INFO(text);
    CHECK_THROWS_AS(distribution(text), InputError);
  }
}

/// Returns the number of the first draws that address each record.
std::vector<u64> counts_of(const Popularity& popularity, const Draws& draws, u64 count) {
  std::vector<u64> counts(popularity.records()), records(100);
  for (u64 i = 0; i < count; i += records.size()) {
    popularity.fill(draws, i, records);
    for (const u64 record : records) ++counts[record];
  }
  return counts;
}

/// Returns the number of draws of each popularity rank of `records`, among 200,000.
std::vector<u64> counts_by_rank(const std::string& text, u64 records) {
  const Popularity popularity(distribution(text), records, 7);
  const std::vector<u64> of_record = counts_of(popularity, Draws(7, 1), 200'000);
  std::vector<u64> counts(records);
  for (u64 rank = 0; rank < records; ++rank) counts[rank] = of_record[popularity.record_of_rank(rank)];
  return counts;
}

/// Returns the share of draws that the first ranks have.
double share(const std::vector<u64>& counts, std::size_t ranks) {
  u64 sum = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) sum += counts[rank];
  return static_cast<double>(sum) / 200'000;
}

TEST_CASE("each distribution gives its first ranks the share that its name promises") {
  const std::vector<u64> hot = counts_by_rank("hotspot:0.1,hits=0.7", 1000);
  CHECK(share(hot, 100) == Approx(0.7).margin(0.005));
  CHECK(share(hot, 50) == Approx(0.35).margin(0.005));
  CHECK(share(counts_by_rank("hotspot", 1000), 200) == Approx(0.8).margin(0.005));
  const Popularity first(distribution("hotspot:0.01,hits=1,scattered=0"), 1000, 7);
  CHECK(share(counts_of(first, Draws(7, 1), 200'000), 10) == 1);
  CHECK(first.record_of_rank(5) == 5);
  const std::vector<u64> similar = counts_by_rank("self-similar:0.2", 1000);
  CHECK(share(similar, 200) == Approx(0.8).margin(0.005));
  CHECK(share(similar, 40) == Approx(0.64).margin(0.005));
  // YCSB: 95 % of the operations address the first .8571 of the records; the tail goes on beyond them.
  CHECK(share(counts_by_rank("exponential:3.495", 1000), 857) == Approx(0.95 / (1 - std::exp(-3.495))).margin(0.005));
}

TEST_CASE("latest draws ages: the newest is the most popular") {
  const Popularity popularity(distribution("latest:1.2"), 1000, 7);
  CHECK(popularity.by_age());
  CHECK(popularity.record_of_rank(5) == 5);
  const std::vector<u64> counts = counts_by_rank("latest:1.2", 1000);
  CHECK(std::max_element(counts.begin(), counts.end()) == counts.begin());
  CHECK_FALSE(Popularity(distribution("zipf:1.2"), 1000, 7).by_age());
}

TEST_CASE("a histogram gives the stretches of its file their shares") {
  const TemporaryFile file("# ranks, operations\n10 1\n 20\t5 # the middle\n\n70 4");
  const std::vector<u64> counts = counts_by_rank("histogram:" + file.path(), 1000);
  CHECK(share(counts, 100) == Approx(0.1).margin(0.005));
  CHECK(share(counts, 300) == Approx(0.6).margin(0.005));
}

TEST_CASE("wrong histograms are refused with their line") {
  using Catch::Matchers::Contains;
  const auto error = [](const char* text) {
    const TemporaryFile file(text);
    return testing::refusal([&] { (void)distribution("histogram:" + file.path()).law(1000); });
  };
  CHECK_THAT(error(""), Contains("has no line with two shares"));
  CHECK_THAT(error("# 1 2\n"), Contains("has no line with two shares"));
  CHECK_THAT(error("1 2\n3\n"), Contains("line 2 '3' needs two shares, of the records and of the operations"));
  CHECK_THAT(error("1 2 3"), Contains("line 1 '1 2 3' needs two shares"));
  CHECK_THAT(error("1 two"), Contains("line 1 '1 two' needs two shares"));
  CHECK_THAT(error("1 nan"), Contains("line 1"));
  CHECK_THAT(error("0 2"), Contains("share of the records that is not above 0"));
  CHECK_THAT(error("1 -2"), Contains("share of the operations below 0"));
  CHECK_THAT(error("1 0\n2 0"), Contains("gives no line a share of the operations"));
  CHECK_THAT(error("1e-9 1\n1 1"), Contains("of 1000 records is less than one"));
  CHECK_THROWS_WITH(distribution("histogram:/no/such"), Contains("histogram file '/no/such': No such file"));
  CHECK_THROWS_WITH(distribution("histogram:/tmp"), Contains("directory"));
}

TEST_CASE("the popular records are scattered, and are the same in every phase") {
  const u64 records = 100'003;
  const Popularity popularity(distribution("zipf:1.2"), records, 7);
  std::vector<u64> hottest(10);
  for (u64 rank = 0; rank < hottest.size(); ++rank) hottest[rank] = popularity.record_of_rank(rank);
  for (const u64 phase : {1, 2}) {
    const Draws draws(7, phase);
    const std::vector<u64> counts = counts_of(popularity, draws, 200'000);
    const auto most = std::max_element(counts.begin(), counts.end());
    CHECK(static_cast<u64>(most - counts.begin()) == hottest[0]);
    CHECK(counts[hottest[0]] > counts[hottest[4]]);
    CHECK(counts[hottest[1]] > counts[hottest[9]]);
  }
  std::sort(hottest.begin(), hottest.end());
  CHECK(hottest.front() < records / 2);
  CHECK(hottest.back() > records / 2);
  CHECK(Popularity(distribution("zipf:1.2"), records, 8).record_of_rank(0) != popularity.record_of_rank(0));
}

TEST_CASE("a batch of records equals those of its positions one by one") {
  const Draws draws(3, 3);
  for (const char* churned : {"none", "drift:7", "flash:50,share=0.5,records=9,length=20"}) {
    for (const char* text :
         {"uniform", "zipf:0.5", "zipf:1", "latest", "hotspot", "exponential:3", "self-similar:0.1"}) {
      const Popularity popularity(distribution(text), 1000, 7, Churn::parse(Spec::parse(churned)));
      std::vector<u64> batch(100), one(1);
      popularity.fill(draws, 77, batch);
      for (u64 at = 0; at < batch.size(); ++at) {
        popularity.fill(draws, 77 + at, one);
        REQUIRE(batch[at] == one[0]);
      }
    }
  }
}

/// Returns the record drawn most often at the positions from `first` on.
u64 hottest(const Popularity& popularity, u64 first, u64 count) {
  std::vector<u64> records(100), counts(10'000);
  for (u64 i = first; i < first + count; i += records.size()) {
    popularity.fill(Draws(7, 1), i, records);
    for (const u64 record : records) ++counts[record];
  }
  return static_cast<u64>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

TEST_CASE("under drift the hottest record moves from rank to rank") {
  const Popularity drifting(distribution("zipf:1.5"), 10'000, 7, Churn::parse(Spec::parse("drift:2000")));
  const Popularity still(distribution("zipf:1.5"), 10'000, 7);
  for (const u64 step : {0, 1, 2, 9'999, 10'000}) {
    INFO("step " << step);
    CHECK(hottest(drifting, step * 2000, 2000) == still.record_of_rank(step % 10'000));
  }
}

TEST_CASE("each flash crowd addresses a few records for a while, and the next one others") {
  const Popularity popularity(distribution("uniform"), 10'000, 7,
                              Churn::parse(Spec::parse("flash:10000,share=0.6,records=5,length=4000")));
  const auto counts = [&](u64 first, u64 count) {
    std::map<u64, u64> of;
    std::vector<u64> records(100);
    for (u64 i = first; i < first + count; i += records.size()) {
      popularity.fill(Draws(7, 1), i, records);
      for (const u64 record : records) ++of[record];
    }
    return of;
  };
  std::set<u64> crowds[2];
  for (const u64 crowd : {0, 1}) {
    u64 fetches = 0;
    for (const auto& [record, count] : counts(crowd * 10'000, 4000)) {
      if (count < 100) continue;
      crowds[crowd].insert(record);
      fetches += count;
    }
    CHECK(crowds[crowd].size() == 5);
    CHECK(static_cast<double>(fetches) == Approx(2400).margin(150));
    for (const auto& [record, count] : counts(crowd * 10'000 + 4000, 6000)) CHECK(count < 20);
  }
  CHECK(crowds[0] != crowds[1]);
}

TEST_CASE("wrong churn is refused") {
  using Catch::Matchers::Contains;
  const auto churn = [](const char* text) { return Churn::parse(Spec::parse(text)); };
  CHECK(churn("none").kind == Churn::Kind::kNone);
  CHECK(churn("flash:10M").length == 1'000'001);
  CHECK_THROWS_WITH(churn("drfit:1"), Contains("did you mean 'drift'"));
  CHECK_THROWS_WITH(churn("drift"), Contains("needs a number of operations, as in drift:10M"));
  CHECK_THROWS_WITH(churn("flash:10,length=11"), Contains("length=11 is longer than the 10"));
  for (const char* text :
       {"none:1", "drift:0", "drift:x", "drift:10,share=1", "flash:10,share=2", "flash:10,records=0", "shift:1"}) {
    INFO(text);
    CHECK_THROWS_AS(churn(text), InputError);
  }
}

TEST_CASE("uniform draws every record about equally often") {
  const Popularity popularity(distribution("uniform"), 100, 7);
  const std::vector<u64> counts = counts_of(popularity, Draws(1, 1), 1'000'000);
  CHECK(*std::min_element(counts.begin(), counts.end()) > 9'500);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 10'500);
}

TEST_CASE("alike() is true only for uniform laws, and impossible shares are refused") {
  for (const char* spec : {"uniform", "zipf:0", "zipf:0.0", "zipf:0e5", "latest:0"})
    CHECK(Distribution(Spec::parse(spec)).alike());
  for (const char* spec : {"zipf:1e-3", "latest", "hotspot:0.2", "self-similar:0.2", "exponential:1"}) {
    CHECK_FALSE(Distribution(Spec::parse(spec)).alike());
  }
  CHECK_THROWS_WITH(Distribution(Spec::parse("self-similar:1e-10")),
                    Catch::Matchers::Contains("must be a number from 1e-9 to 0.5"));
  CHECK_NOTHROW(Distribution(Spec::parse("self-similar:1e-9")));
  for (const char* lines : {"1e308 1\n1e308 1\n", "1 1e308\n1 1e308\n"}) {
    const TemporaryFile file(lines);
    CHECK_THROWS_WITH(Distribution(Spec::parse("histogram:" + file.path())),
                      Catch::Matchers::Contains("too large for a number"));
  }
}

}  // namespace
}  // namespace latchlab
