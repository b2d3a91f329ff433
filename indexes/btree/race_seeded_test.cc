// The race finder catches the seeded bugs of the B+-tree, with programs that the sound code passes.
#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "indexes/seeded_test.h"
#include "sync/olc.h"
#include "sync/synchronized.h"
#include "sync/three_path.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Seeded bugs: the race finder finds each dropped step of the B+-tree under olc", "[race]") {
  using Bugs = btree::BugFlags<bool>;
  const auto run =
      find_in_mixes<Synchronized<BTree, Tiny<Olc<Simulated, BugsOnRequest>>, U64Key>>("olc", 0, btree_mixes());
  CHECK(caught("btree: validation", BugsOnRequest::kDropValidation, run));
  CHECK(caught("btree: link", BugsOnRequest::kDropLink, run));
  CHECK(caught("btree: upgrade", BugsOnRequest::kDropUpgrade, run));
  CHECK(caught("btree: unlock", BugsOnRequest::kDropUnlockAfterFailedUpgrade, run));
  CHECK(caught("btree: grace period", BugsOnRequest::kDropGracePeriod, run));
  CHECK(caught("btree: parent", Bugs::kDropParent, run));
  CHECK(caught("btree: right node", Bugs::kDropRight, run));
  CHECK(caught("btree: unproven", Bugs::kKeepUnproven, run));
  CHECK(caught("btree: end at empty", Bugs::kEndAtEmpty, run));
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of three-path", "[race]") {
  const auto run = find_in_mixes<Synchronized<BTree, Tiny<ThreePath<Simulated, BugsOnRequest>>, U64Key>>(
      "three-path:0,middle=0", 0.2, btree_mixes());
  CHECK(caught("three-path: subscription", BugsOnRequest::kDropSubscription, run));
  CHECK(caught("three-path: slow count", BugsOnRequest::kDropSlowCount, run));
  CHECK(caught("three-path: latches", BugsOnRequest::kPassLatches, run));
  CHECK(caught("three-path: change", BugsOnRequest::kDropChange, run));
}

}  // namespace
}  // namespace latchlab::testing
