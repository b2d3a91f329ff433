#include "harness/config/slo.h"

#include <functional>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

struct Outcome {
  std::vector<u64> tried;
  bool last_kept = false;
  RateSearch::Answer answer;
};

Outcome search(u64 most, const std::function<bool(u64 rate)>& keeps, u64 least = 1) {
  RateSearch search(most, least);
  Outcome found{};
  while (const auto rate = search.next()) {
    found.tried.push_back(*rate);
    search.note(found.last_kept = keeps(*rate));
  }
  found.answer = search.answer();
  return found;
}

std::string slo_refusal(std::string_view text) {
  return testing::refusal([&] { (void)Slo::parse(text); });
}

TEST_CASE("a search ends with a rate that keeps the bound, at most 3 % below the highest", "[slo]") {
  for (const u64 most : {1'000'000ull, 20'000'000ull, 123'456ull}) {
    for (const double share : {.0011, .01, .0624, .0626, .3, .5, .9, .999}) {
      const auto highest = static_cast<u64>(share * static_cast<double>(most));
      CAPTURE(most, highest);
      const Outcome found = search(most, [&](u64 rate) { return rate <= highest; });
      CHECK(found.answer == RateSearch::Answer::kFound);
      CHECK(found.last_kept);
      CHECK(found.tried.back() <= highest);
      CHECK(static_cast<double>(found.tried.back()) * 1.031 + 1 >= static_cast<double>(highest));
      CHECK(found.tried.size() <= 14);
    }
  }
}

TEST_CASE("a search can end with the answer that all rates keep the bound, or that none does", "[slo]") {
  const Outcome all = search(1'000'000, [](u64) { return true; });
  CHECK(all.answer == RateSearch::Answer::kAllKeep);
  CHECK(all.tried == std::vector<u64>{62'500, 125'000, 250'000, 500'000, 1'000'000});
  const Outcome none = search(1'000'000, [](u64) { return false; });
  CHECK(none.answer == RateSearch::Answer::kNoneKeeps);
  CHECK(none.tried.back() == 976);
  CHECK(none.tried.size() == 7);
  CHECK(search(1'000'000, [](u64) { return false; }, 20'000).tried == std::vector<u64>{62'500, 31'250, 20'000});
  CHECK(search(1'000'000, [](u64) { return false; }, 2'000'000).tried == std::vector<u64>{1'000'000});
  // Hardly any rates to try.
  for (u64 most = 1; most < 40; ++most) {
    CAPTURE(most);
    CHECK(search(most, [](u64) { return true; }).tried.back() == most);
    CHECK(search(most, [](u64) { return false; }).tried.back() == 1);
    for (u64 highest = 1; highest < most; ++highest) {
      const Outcome found = search(most, [&](u64 rate) { return rate <= highest; });
      CHECK(found.answer == RateSearch::Answer::kFound);
      CHECK(found.tried.back() == highest);
    }
  }
}

TEST_CASE("a rate that kept the bound by luck and breaks it in a later try is not the answer", "[slo]") {
  u32 looks = 0;
  const Outcome found =
      search(1'000'000, [&](u64 rate) { return rate <= 300'000 && !(rate > 200'000 && ++looks > 2); });
  CHECK(found.last_kept);
  CHECK(found.answer == RateSearch::Answer::kFound);
  CHECK(found.tried.back() <= 200'000);
  CHECK(found.tried.back() >= 190'000);
}

TEST_CASE("a search ends even if each try keeps the bound at random", "[slo]") {
  Rng random(test_seed());
  for (u32 i = 0; i < 1000; ++i) {
    const u64 chance = random.below(100);
    const Outcome found = search(random.below(10'000'000) + 1, [&](u64) { return random.below(100) < chance; });
    CHECK(found.tried.size() <= 40);
    if (found.answer == RateSearch::Answer::kFound || found.answer == RateSearch::Answer::kAllKeep)
      CHECK(found.last_kept);
    if (found.answer == RateSearch::Answer::kNoneKeeps) CHECK_FALSE(found.last_kept);
  }
}

TEST_CASE("a bound is read back as it is printed, and mistakes are reported", "[slo]") {
  for (const char* text : {"p99:50us", "p99.9:1ms", "p50:200ns", "p99.999:2s"}) CHECK(Slo::parse(text).str() == text);
  CHECK(Slo::parse("p99.9:1ms").thousandths == 99'900);
  CHECK(Slo::parse("p99.9:1ms").bound_ns == 1'000'000);
  CHECK(Slo::parse("p50:1ms").fewest_calls() == 100);
  CHECK(Slo::parse("p99.9:1ms").fewest_calls() == 1000);
  for (const char* text :
       {"99:50us", "p99", "p100:1s", "p0:1s", "p99.9999:1s", "pp:1s", "p-1:1s", "", ":", "pnan:1s"}) {
    CAPTURE(text);
    CHECK(slo_refusal(text) == "--slo: '" + std::string(text) +
                                   "' is not a bound; write p99:50us or p99.9:1ms, with at most three decimals");
  }
  CHECK_THAT(slo_refusal("p99:50"), Catch::StartsWith("--slo: '50' is not a duration"));
  CHECK_THAT(slo_refusal("p99:0"), Catch::StartsWith("--slo: 0 is too small"));
}

}  // namespace
}  // namespace latchlab
