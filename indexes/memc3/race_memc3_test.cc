// memc3 on the race finder.
#include "indexes/memc3/memc3.h"
#include "indexes/memc3/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: memc3 under rtm", "[race]") {
  explore<Synchronized<MemC3, Tiny<Rtm<Simulated>>, U64Key>>(memc3_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: memc3 under adaptive", "[race]") {
  explore<Synchronized<MemC3, Tiny<Adaptive<Simulated>>, U64Key>>(memc3_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: memc3 under olc", "[race]") {
  explore<Synchronized<MemC3, Tiny<Olc<Simulated>>, U64Key>>(memc3_mixes(), "olc", {});
}

TEST_CASE("Races: memc3 under striped", "[race]") {
  explore<Synchronized<MemC3, Tiny<Striped<Simulated>>, U64Key>>(memc3_mixes(), "striped:3", {});
}

TEST_CASE("Races: memc3 under hybrid", "[race]") {
  explore<Synchronized<MemC3, Tiny<Hybrid<Simulated>>, U64Key>>(memc3_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
