// Chained tables on the race finder.
#include "indexes/chained/chained.h"
#include "indexes/chained/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: chained under rtm", "[race]") {
  explore<Synchronized<Chained, Tiny<Rtm<Simulated>>, U64Key>>(chained_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: chained under adaptive", "[race]") {
  explore<Synchronized<Chained, Tiny<Adaptive<Simulated>>, U64Key>>(chained_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: chained under olc", "[race]") {
  explore<Synchronized<Chained, Tiny<Olc<Simulated>>, U64Key>>(chained_mixes(), "olc", {});
  explore<Synchronized<Chained, Tiny<Olc<Simulated>>, BytesKey>>(chained_string_mixes(), "olc", {});
}

TEST_CASE("Races: chained under rowex", "[race]") {
  explore<Synchronized<Chained, Tiny<Rowex<Simulated>>, U64Key>>(chained_mixes(), "rowex", {});
}

TEST_CASE("Races: chained under striped", "[race]") {
  explore<Synchronized<Chained, Tiny<Striped<Simulated>>, U64Key>>(chained_mixes(), "striped:3", {});
}

TEST_CASE("Races: chained under hybrid", "[race]") {
  explore<Synchronized<Chained, Tiny<Hybrid<Simulated>>, U64Key>>(chained_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
