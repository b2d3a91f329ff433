// The race finder catches the seeded bugs of memc3, with programs that the sound code passes.
#include "indexes/memc3/memc3.h"
#include "indexes/memc3/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds each dropped step of memc3 under olc", "[race]") {
  using Index = Synchronized<MemC3, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  using Bugs = memc3::BugFlags<bool>;
  const auto run = find_in_mixes<Index>("olc", 0, memc3_mixes());
  CHECK(caught("memc3: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("memc3: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("memc3: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, run));
  CHECK(caught("memc3: first bucket", Bugs::kForgetFirst, run));
  CHECK(caught("memc3: other bucket", Bugs::kForgetOther, run));
  CHECK(caught("memc3: root first", Bugs::kRootFirst, run));
  CHECK(caught("memc3: stale path", Bugs::kTrustPath, run));
  CHECK(caught("memc3: behind hand", Bugs::kMovedBehindHand, run));
}

}  // namespace
}  // namespace latchlab::testing
