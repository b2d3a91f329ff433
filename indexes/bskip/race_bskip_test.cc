// The B-skiplist on the race finder: policies that validate, elide, scout, and have latches with queues.
#include "indexes/bskip/bskip.h"
#include "indexes/bskip/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

template <class Policy>
using List = Synchronized<BSkip, Tiny<Policy>, U64Key>;

TEST_CASE("Races: B-skiplist under olc", "[race]") {
  explore<List<Olc<Simulated>>>(bskip_mixes(), "olc", {});
  explore<Synchronized<BSkip, Tiny<Olc<Simulated>>, BytesKey>>(bskip_string_mixes(), "olc", {});
}

TEST_CASE("Races: B-skiplist under optiql, whose writers claim leaves", "[race]") {
  explore<List<Optiql<Simulated>>>(bskip_mixes(), "optiql", {});
}

TEST_CASE("Races: B-skiplist under rtm", "[race]") {
  explore<List<Rtm<Simulated>>>(bskip_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: B-skiplist under adaptive, which scouts", "[race]") {
  explore<List<Adaptive<Simulated>>>(bskip_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: B-skiplist under hybrid", "[race]") {
  explore<List<Hybrid<Simulated>>>(bskip_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
