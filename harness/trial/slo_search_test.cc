#include "harness/trial/slo_search.h"

#include <string>
#include <vector>

#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

const Slo kBound = Slo::parse("p99:50us");

/// Returns a try in which every call took `ns`.
Tried of_ns(u64 ns) {
  Tried out{.seconds = .2, .offered = u64{200}, .served = 200, .responses = {}, .late = false, .whole = true};
  for (int i = 0; i < 200; ++i) out.responses.add(ns);
  return out;
}

/// Returns a try on a machine that keeps the bound up to `most` operations a second.
Tried up_to(u64 most, u64 per_second) { return of_ns(per_second <= most ? 20'000 : 200'000); }

TEST_CASE("the rate of the last try is the answer, with its response time") {
  const SloSearch told = search_for_slo(kBound, 1e6, 1, [](u64 rate) { return up_to(300'000, rate); });
  CHECK(told.answer == RateSearch::Answer::kFound);
  CHECK(told.closed_per_second == 1e6);
  CHECK(told.tries.back().kept);
  CHECK(told.tries.back().per_second <= 300'000);
  CHECK(told.tries.back().per_second > 290'000);
  CHECK(*told.tries.back().response_ns == Approx(20'000).epsilon(.01));
}

TEST_CASE("a rate that misses the bound is tried again, and a single miss does not change the answer") {
  for (const std::size_t disturbed : {0u, 1u, 2u, 5u, 12u}) {
    std::vector<u64> tried;
    const SloSearch told = search_for_slo(kBound, 1e6, 1, [&](u64 rate) {
      tried.push_back(rate);
      return tried.size() - 1 == disturbed ? of_ns(10'000'000) : up_to(300'000, rate);
    });
    CAPTURE(disturbed);
    CHECK(told.answer == RateSearch::Answer::kFound);
    CHECK(told.tries.back().kept);
    CHECK(told.tries.back().per_second > 290'000);
    REQUIRE(told.tries.size() == tried.size());
    for (std::size_t i = 0; i + 1 < tried.size(); ++i) {
      const bool first = i == 0 || tried[i - 1] != tried[i] || told.tries[i - 1].kept;
      if (!told.tries[i].kept && first) CHECK(tried[i + 1] == tried[i]);
    }
  }
}

TEST_CASE("a try that is cut short does not keep the bound, and ends the search without an answer") {
  std::size_t tries = 0;
  const SloSearch told = search_for_slo(kBound, 1e6, 1, [&](u64 rate) {
    Tried tried = up_to(300'000, rate);
    tried.whole = ++tries < 4;
    return tried;
  });
  CHECK(told.answer == RateSearch::Answer::kUnfinished);
  REQUIRE(told.tries.size() == 4);
  CHECK(tries == 4);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(told.tries[i].cut);
  CHECK(told.tries[0].kept);
  CHECK(told.tries[3].cut);
  CHECK_FALSE(told.tries[3].kept);
}

TEST_CASE("a search that ends between two tries keeps the tries that were made, and has no answer") {
  std::size_t tries = 0;
  const SloSearch told = search_for_slo(
      kBound, 1e6, 1, [&](u64 rate) { return ++tries > 3 ? std::nullopt : std::optional(up_to(300'000, rate)); });
  CHECK(told.answer == RateSearch::Answer::kUnfinished);
  CHECK(told.tries.size() == 3);
  CHECK(told.tries.back().kept);
}

TEST_CASE("a try without a timed call has no response time, and does not keep the bound") {
  const SloSearch told = search_for_slo(kBound, 1000, 1, [](u64) { return Tried{}; });
  CHECK(told.answer == RateSearch::Answer::kNoneKeeps);
  CHECK_FALSE(told.tries.front().response_ns);
  CHECK(told.tries.front().response_ns.reason == "no call was timed");
}

TEST_CASE("a late try does not keep the bound, whatever its response times") {
  const SloSearch told = search_for_slo(kBound, 1000, 1, [](u64) {
    Tried tried = of_ns(10);
    tried.late = true;
    return tried;
  });
  CHECK(told.answer == RateSearch::Answer::kNoneKeeps);
}

TEST_CASE("a rate keeps the bound only if 99 % of the arrivals were served, however fast", "[slo]") {
  const auto first_of = [](u64 offered) {
    return search_for_slo(Slo::parse("p50:50us"), 1000, 1,
                          [&](u64) {
                            Tried tried = of_ns(10'000);
                            tried.offered = offered;
                            return tried;
                          })
        .tries.front();
  };
  CHECK(first_of(200).kept);
  CHECK(first_of(202).kept);
  CHECK_FALSE(first_of(203).kept);
  CHECK(first_of(203).response_ns);  // the median is one of the operations that were served
  CHECK(*first_of(203).offered == Approx(1015));
  CHECK(first_of(203).served == Approx(1000));
}

TEST_CASE("operations that were not served count beyond every response time, in proportion to the timed calls",
          "[slo]") {
  const auto response_with = [](u64 offered, u64 served) {
    return search_for_slo(kBound, 1000, 1,
                          [&](u64) {
                            Tried tried = of_ns(10'000);
                            for (int i = 0; i < 10; ++i) tried.responses.add(45'000);  // the slowest of 210
                            tried.offered = offered;
                            tried.served = served;
                            return tried;
                          })
        .tries.front()
        .response_ns;
  };
  CHECK(*response_with(210, 210) == Approx(45'000).epsilon(.04));
  CHECK(*response_with(212, 210) == Approx(45'000).epsilon(.04));
  CHECK(response_with(213, 210).reason ==
        "3 of 213 operations that came had not begun at the end, and so have no response time");
  // One call in ten is timed, so 29 operations that were not served count as 3 timed calls.
  CHECK(response_with(2120, 2100));
  CHECK_FALSE(response_with(2129, 2100));
}

TEST_CASE("a try with too many arrivals to count does not keep the bound, and says why", "[slo]") {
  const SloSearch told = search_for_slo(kBound, 1000, 1, [](u64) {
    Tried tried = of_ns(10'000);
    tried.offered = OrReason<u64>::missing("too many");
    return tried;
  });
  CHECK(told.answer == RateSearch::Answer::kNoneKeeps);
  CHECK(told.tries.front().offered.reason == "too many");
  CHECK(told.tries.front().response_ns.reason == "too many");
}

TEST_CASE("a search without a rate that keeps the bound says why", "[slo]") {
  SloSearch told{.answer = RateSearch::Answer::kFound, .closed_per_second = 2e6, .tries = {SloSearch::Try()}};
  told.tries[0].per_second = 1500;
  told.tries[0].served = 1200;
  const auto why = [&](RateSearch::Answer answer, bool full = false) {
    told.answer = answer;
    return why_no_rate(kBound, told, full);
  };
  CHECK(why(RateSearch::Answer::kFound).empty());
  CHECK(why(RateSearch::Answer::kAllKeep).empty());
  CHECK(why(RateSearch::Answer::kNoneKeeps) ==
        "no rate keeps --slo=p99:50us: not even 1.50 k operations a second, of which 1.20 k were served, and a closed "
        "loop does 2.00 M");
  CHECK(why(RateSearch::Answer::kUnsteady) ==
        "no rate keeps --slo=p99:50us twice: every rate that kept it broke it when tried again, in 1 tries");
  CHECK(why(RateSearch::Answer::kUnfinished) ==
        "the search for --slo=p99:50us has no answer: it was interrupted after 1 tries");
  CHECK(why(RateSearch::Answer::kUnfinished, true) ==
        "the search for --slo=p99:50us has no answer: the index was full after 1 tries");
}

TEST_CASE("the least rate has enough timed calls within the time, for any share of timed calls") {
  CHECK(least_rate(kBound, 1, testing::kSecond) == 100);
  CHECK(least_rate(kBound, 100, testing::kSecond) == 10'000);
  CHECK(least_rate(Slo::parse("p99.99:1ms"), 10, testing::kSecond / 2) == 200'000);
  CHECK(least_rate(kBound, 100, 0) == 1);
}

}  // namespace
}  // namespace latchlab
