// Cuckoo tables on the race finder.
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/hybrid.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: cuckoo under rtm", "[race]") {
  explore<Synchronized<Cuckoo, Rtm<Simulated>, U64Key>>(cuckoo_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: cuckoo under adaptive", "[race]") {
  explore<Synchronized<Cuckoo, Adaptive<Simulated>, U64Key>>(cuckoo_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: cuckoo under olc", "[race]") {
  explore<Synchronized<Cuckoo, Olc<Simulated>, U64Key>>(cuckoo_mixes(), "olc", {});
}

TEST_CASE("Races: cuckoo under striped", "[race]") {
  explore<Synchronized<Cuckoo, Striped<Simulated>, U64Key>>(cuckoo_mixes(), "striped:3", {});
}

TEST_CASE("Races: cuckoo under hybrid", "[race]") {
  explore<Synchronized<Cuckoo, Hybrid<Simulated>, U64Key>>(cuckoo_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
