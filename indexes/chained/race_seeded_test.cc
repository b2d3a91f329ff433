// The race finder catches the seeded bugs of chained tables, with programs that the sound code passes.
#include "indexes/chained/chained.h"
#include "indexes/chained/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds a dropped validation, upgrade or grace period of chained under olc",
          "[race]") {
  using Index = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = find_in_mixes<Index>("olc", 0, chained_mixes());
  CHECK(caught("chained: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("chained: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("chained: grace period", BugsOnRequest::kDropGracePeriod, run));
}

TEST_CASE("Seeded bugs: the race finder finds a split that publishes the new bucket first", "[race]") {
  using Index = Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  CHECK(caught("chained: published first", chained::BugFlags<bool>::kPublishFirst,
               find_in_mixes<Index>("olc", 0, chained_mixes())));
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of a growing table", "[race]") {
  using Flags = growing::BugFlags<bool>;
  const auto run =
      find_in_mixes<Synchronized<Chained, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>>("olc", 0, chained_mixes());
  CHECK(caught("growing: guess", Flags::kTrustGuess, run));
  CHECK(caught("growing: half passed", Flags::kPassHalf, run));
}

TEST_CASE("Seeded bugs: the race finder finds a reader without a latch that trusts a miss beside a split", "[race]") {
  using Index = Synchronized<Chained, Tiny<Rowex<Simulated, BugsOnRequest>>, U64Key>;
  CHECK(caught("chained: trusted miss", chained::BugFlags<bool>::kTrustMiss,
               find_in_mixes<Index>("rowex", 0, chained_mixes())));
}

}  // namespace
}  // namespace latchlab::testing
