// The race finder catches the seeded bugs of kvdirect, with programs that the sound code passes.
#include "indexes/kvdirect/kvdirect.h"
#include "indexes/kvdirect/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds each dropped step of kvdirect under striped", "[race]") {
  using Index = Synchronized<KvDirect, Tiny<Striped<Simulated, BugsOnRequest>>, U64Key>;
  using Bugs = kvdirect::BugFlags<bool>;
  const auto run = find_in_mixes<Index>("striped:1024", 0, kvdirect_pointer_mixes());
  CHECK(caught("kvdirect: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("kvdirect: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("kvdirect: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, run));
  CHECK(caught("kvdirect: shard", Bugs::kForgetShard, run));
  CHECK(caught("kvdirect: bucket", Bugs::kForgetHome, run));
}

}  // namespace
}  // namespace latchlab::testing
