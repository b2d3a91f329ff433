// `vip` on the race finder: a move never hides a key, and never loses a concurrent change of it.
#include "indexes/vip/race_mixes_test.h"
#include "indexes/vip/vip.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: vip under rwspin", "[race]") {
  explore<Synchronized<Vip, Tiny<RwSpin<Simulated>>, U64Key>>(vip_mixes(), "rwspin", {});
}

TEST_CASE("Races: vip under rtm", "[race]") {
  explore<Synchronized<Vip, Tiny<Rtm<Simulated>>, U64Key>>(vip_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: vip under adaptive", "[race]") {
  explore<Synchronized<Vip, Tiny<Adaptive<Simulated>>, U64Key>>(vip_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: vip under olc", "[race]") {
  explore<Synchronized<Vip, Tiny<Olc<Simulated>>, U64Key>>(vip_mixes(), "olc", {});
  explore<Synchronized<Vip, Tiny<Olc<Simulated>>, BytesKey>>(vip_string_mixes(), "olc", {});
}

TEST_CASE("Races: vip under rowex", "[race]") {
  explore<Synchronized<Vip, Tiny<Rowex<Simulated>>, U64Key>>(vip_mixes(), "rowex", {});
}

TEST_CASE("Races: vip under striped", "[race]") {
  explore<Synchronized<Vip, Tiny<Striped<Simulated>>, U64Key>>(vip_mixes(), "striped:3", {});
}

TEST_CASE("Races: vip under hybrid", "[race]") {
  explore<Synchronized<Vip, Tiny<Hybrid<Simulated>>, U64Key>>(vip_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
