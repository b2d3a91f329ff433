// ART under adaptive on the race finder. A fifth of the transactions is made to abort with any status, so that scouts
// run beside transactions, fallbacks and each other.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: ART under adaptive with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Adaptive<Simulated>>, U64Key>>(number_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's large nodes under adaptive", "[race]") {
  explore<Synchronized<Art, Tiny<Adaptive<Simulated>>, U64Key>>(large_node_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's scans under adaptive, across batches", "[race]") {
  explore<Synchronized<ArtInSmallBatches, Tiny<Adaptive<Simulated>>, U64Key>>(scan_mixes(), "adaptive",
                                                                              {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under adaptive with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Adaptive<Simulated>>, BytesKey>>(string_mixes(), "adaptive", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
