// ART with its versions in a table, on the race finder. The stripes are so few that parent, child and unrelated nodes
// share them all the time. `seq` has one stripe only.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/seq.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: ART under striped with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Striped<Simulated>>, U64Key>>(number_mixes(), "striped:3", {});
}

TEST_CASE("Races: ART's large nodes under striped", "[race]") {
  explore<Synchronized<Art, Tiny<Striped<Simulated>>, U64Key>>(large_node_mixes(), "striped:3", {});
}

TEST_CASE("Races: ART's scans under striped, within a batch and across batches", "[race]") {
  explore<Synchronized<Art, Tiny<Striped<Simulated>>, U64Key>>(scan_mixes(), "striped:3", {});
  explore<Synchronized<ArtInSmallBatches, Tiny<Striped<Simulated>>, U64Key>>(scan_mixes(), "striped:3", {});
}

TEST_CASE("Races: ART under striped with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Striped<Simulated>>, BytesKey>>(string_mixes(), "striped:3", {});
}

TEST_CASE("Races: ART under striped with a stripe for every node", "[race]") {
  explore<Synchronized<Art, Tiny<Striped<Simulated>>, U64Key>>(number_mixes(), "striped", {});
}

TEST_CASE("Races: ART under seq with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Seq<Simulated>>, U64Key>>(number_mixes(), "seq", {});
}

TEST_CASE("Races: ART's scans under seq, across batches", "[race]") {
  explore<Synchronized<ArtInSmallBatches, Tiny<Seq<Simulated>>, U64Key>>(scan_mixes(), "seq", {});
}

TEST_CASE("Races: ART under seq with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Seq<Simulated>>, BytesKey>>(string_mixes(), "seq", {});
}

}  // namespace
}  // namespace latchlab::testing
