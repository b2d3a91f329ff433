// The race finder catches the seeded bugs of `vip`, with programs that the sound code passes.
#include "indexes/seeded_test.h"
#include "indexes/vip/race_mixes_test.h"
#include "indexes/vip/vip.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds a dropped validation, upgrade or grace period of vip under olc",
          "[race]") {
  using Index = Synchronized<Vip, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>;
  const auto run = find_in_mixes<Index>("olc", 0, vip_mixes());
  CHECK(caught("vip: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("vip: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("vip: grace period", BugsOnRequest::kDropGracePeriod, run));
}

TEST_CASE("Seeded bugs: the race finder finds a key that is unlinked before its copy is linked", "[race]") {
  using Index = Synchronized<Vip, Tiny<Rowex<Simulated, BugsOnRequest>>, U64Key>;
  CHECK(
      caught("vip: unlinked first", vip::BugFlags<bool>::kUnlinkFirst, find_in_mixes<Index>("rowex", 0, vip_mixes())));
}

}  // namespace
}  // namespace latchlab::testing
