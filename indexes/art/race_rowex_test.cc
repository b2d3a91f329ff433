// ART under read-optimized write exclusion, on the race finder.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/rowex.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: ART under rowex with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Rowex<Simulated>>, U64Key>>(number_mixes(), "rowex", {});
}

TEST_CASE("Races: ART's large nodes under rowex", "[race]") {
  explore<Synchronized<Art, Tiny<Rowex<Simulated>>, U64Key>>(large_node_mixes(), "rowex", {});
}

TEST_CASE("Races: ART's scans under rowex, within a batch and across batches", "[race]") {
  explore<Synchronized<Art, Tiny<Rowex<Simulated>>, U64Key>>(scan_mixes(), "rowex", {});
  explore<Synchronized<ArtInSmallBatches, Tiny<Rowex<Simulated>>, U64Key>>(scan_mixes(), "rowex", {});
}

TEST_CASE("Races: ART under rowex with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Rowex<Simulated>>, BytesKey>>(string_mixes(), "rowex", {});
}

}  // namespace
}  // namespace latchlab::testing
