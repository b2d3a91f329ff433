// The race finder catches the seeded bugs of the B-skiplist, with programs that the sound code passes.
#include "indexes/bskip/bskip.h"
#include "indexes/bskip/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds each dropped step of the B-skiplist", "[race]") {
  using Bugs = bskip::BugFlags<bool>;
  const auto run =
      find_in_mixes<Synchronized<BSkip, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>>("olc", 0, bskip_mixes());
  CHECK(caught("bskip: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("bskip: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("bskip: upper levels", Bugs::kDropUpper, run));
  CHECK(caught("bskip: left node", Bugs::kDropLeft, run));
  CHECK(caught("bskip: right node", Bugs::kDropRight, run));
  CHECK(caught("bskip: stays linked", Bugs::kStayLinked, run));
  CHECK(caught("bskip: unproven", Bugs::kKeepUnproven, run));
  const auto claims =
      find_in_mixes<Synchronized<BSkip, Tiny<Optiql<Simulated, BugsOnRequest>>, U64Key>>("optiql", 0, bskip_mixes());
  CHECK(caught("bskip: peeked bound", Bugs::kTrustPeek, claims));
}

}  // namespace
}  // namespace latchlab::testing
