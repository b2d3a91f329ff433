// The B+-tree on the race finder, under a policy of each transaction class.
#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"
#include "sync/three_path.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: B+-tree under rtm", "[race]") {
  explore<Synchronized<BTree, Tiny<Rtm<Simulated>>, U64Key>>(btree_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: B+-tree under adaptive", "[race]") {
  explore<Synchronized<BTree, Tiny<Adaptive<Simulated>>, U64Key>>(btree_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: B+-tree under olc", "[race]") {
  explore<Synchronized<BTree, Tiny<Olc<Simulated>>, U64Key>>(btree_mixes(), "olc", {});
  explore<Synchronized<BTree, Tiny<Olc<Simulated>>, BytesKey>>(btree_string_mixes(), "olc", {});
}

TEST_CASE("Races: B+-tree under striped", "[race]") {
  explore<Synchronized<BTree, Tiny<Striped<Simulated>>, U64Key>>(btree_mixes(), "striped:3", {});
}

TEST_CASE("Races: B+-tree under hybrid", "[race]") {
  explore<Synchronized<BTree, Tiny<Hybrid<Simulated>>, U64Key>>(btree_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: B+-tree under three-path", "[race]") {
  using Tree = Synchronized<BTree, Tiny<ThreePath<Simulated>>, U64Key>;
  explore<Tree>(btree_mixes(), "three-path:0,middle=0", {.abort_rate = 0.2});
  explore<Tree>(btree_mixes(), "three-path:1,middle=1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
