// Chains of lines on the race finder, which passes sound code and catches seeded bugs.
#include "indexes/chained/chained_line.h"
#include "indexes/chained/race_line_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: chained_line under rtm", "[race]") {
  explore<Synchronized<ChainedLine, Tiny<Rtm<Simulated>>, U64Key>>(chained_line_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: chained_line under adaptive", "[race]") {
  explore<Synchronized<ChainedLine, Tiny<Adaptive<Simulated>>, U64Key>>(chained_line_mixes(), "adaptive",
                                                                        {.abort_rate = 0.2});
}

TEST_CASE("Races: chained_line under olc", "[race]") {
  explore<Synchronized<ChainedLine, Tiny<Olc<Simulated>>, U64Key>>(chained_line_mixes(), "olc", {});
}

TEST_CASE("Races: chained_line under striped", "[race]") {
  explore<Synchronized<ChainedLine, Tiny<Striped<Simulated>>, U64Key>>(chained_line_mixes(), "striped:3", {});
}

TEST_CASE("Races: chained_line under hybrid", "[race]") {
  explore<Synchronized<ChainedLine, Tiny<Hybrid<Simulated>>, U64Key>>(chained_line_mixes(), "hybrid:1",
                                                                      {.abort_rate = 0.2});
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of chained_line under olc", "[race][no-asan]") {
  using Index = Synchronized<ChainedLine, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = find_in_mixes<Index>("olc", 0, chained_line_mixes());
  CHECK(caught("chained_line: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("chained_line: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("chained_line: grace period", BugsOnRequest::kDropGracePeriod, run));
  CHECK(caught("chained_line: word first", chained::BugFlags<bool>::kLineFirst, run));
}

}  // namespace
}  // namespace latchlab::testing
