#include "harness/text/open_loop_text.h"

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("the outcome of a search is shown in a block and in a row", "[report]") {
  const Slo slo = Slo::parse("p99:3ms");
  SloSearch search{.answer = RateSearch::Answer::kFound, .closed_per_second = 9e6, .tries = {SloSearch::Try()}};
  search.tries[0].per_second = 5'200'000;
  search.tries[0].served = 5'100'000;
  const auto tells = [&](RateSearch::Answer answer, const std::string& text, const std::string& row) {
    search.answer = answer;
    CHECK(slo_text(slo, search) == text);
    CHECK(found_text(slo, search) == row);
  };
  using enum RateSearch::Answer;
  const std::string closed = "a closed loop does 9.00 M operations/s";
  tells(kFound, "p99 at most 3ms up to 5.20 M operations/s, found in try 1; " + closed, ", p99:3ms up to 5.20 M/s");
  tells(kAllKeep, "p99 at most 3ms even at the rate of a closed loop; " + closed, ", p99:3ms even at 5.20 M/s");
  tells(kNoneKeeps,
        "no rate keeps p99 at most 3ms, not even 5.20 M operations/s, of which 5.10 M were served; " + closed,
        ", p99:3ms not even at 5.20 M/s");
  tells(kUnsteady, "no rate keeps p99 at most 3ms in two tries; " + closed, ", p99:3ms at no rate in two tries");
  tells(kUnfinished, "p99 at most 3ms: the search ended in try 1, at 5.20 M operations/s; " + closed,
        ", p99:3ms unfinished at 5.20 M/s");
}

}  // namespace
}  // namespace latchlab
