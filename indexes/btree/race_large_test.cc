// The B+-tree with large nodes on the race finder: leaves whose order is a row of bytes, and binary searches. They have
// four keys as well, so the programs are those of small nodes.
#include "indexes/btree/btree.h"
#include "indexes/btree/race_mixes_test.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: B+-tree of large nodes under olc", "[race]") {
  explore<Synchronized<BTree4K, Tiny<Olc<Simulated>>, U64Key>>(btree_mixes(), "olc", {});
  explore<Synchronized<BTree4K, Tiny<Olc<Simulated>>, BytesKey>>(btree_string_mixes(), "olc", {});
}

TEST_CASE("Races: B+-tree of large nodes under rtm", "[race]") {
  explore<Synchronized<BTree4K, Tiny<Rtm<Simulated>>, U64Key>>(btree_mixes(), "rtm:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
