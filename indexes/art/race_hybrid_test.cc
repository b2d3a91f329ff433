// ART under hybrid on the race finder. Changes run as transactions, a fifth of which is made to abort, beside changes
// under latches and readers of versions.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/hybrid.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: ART under hybrid with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Hybrid<Simulated>>, U64Key>>(number_mixes(), "hybrid:0", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's large nodes under hybrid", "[race]") {
  explore<Synchronized<Art, Tiny<Hybrid<Simulated>>, U64Key>>(large_node_mixes(), "hybrid:0", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's scans under hybrid, across batches", "[race]") {
  using Index = Synchronized<ArtInSmallBatches, Tiny<Hybrid<Simulated>>, U64Key>;
  explore<Index>(scan_mixes(), "hybrid:0", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under hybrid that suspends transactions during the descent", "[race]") {
  explore<Synchronized<Art, Tiny<Hybrid<Simulated>>, U64Key>>(number_mixes(), "hybrid:1,suspend=1",
                                                              {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under hybrid with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Hybrid<Simulated>>, BytesKey>>(string_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
