// The race finder catches the seeded bugs of cuckoo tables, with programs that the sound code passes.
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds each dropped step of cuckoo under olc", "[race]") {
  using Index = Synchronized<Cuckoo, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = find_in_mixes<Index>("olc", 0, four_mixes());
  CHECK(caught("cuckoo: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("cuckoo: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("cuckoo: update latch", BugsOnRequest::kDropUpdateLatch, run));
  CHECK(caught("cuckoo: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, run));
  CHECK(caught("cuckoo: tag", cuckoo::BugFlags<bool>::kDropTag, run));
  CHECK(caught("cuckoo: strays", cuckoo::BugFlags<bool>::kForgetStrays, run));
  CHECK(caught("cuckoo: behind hand", cuckoo::BugFlags<bool>::kMovedBehindHand, run));
  CHECK(caught("cuckoo: stale path", cuckoo::BugFlags<bool>::kTrustPath, run));
}

}  // namespace
}  // namespace latchlab::testing
