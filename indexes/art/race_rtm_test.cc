// ART under one elided lock on the race finder. A fifth of the transactions is made to abort, anywhere and with any
// status, beside those that meet a conflict. So transactions, fallbacks and lock holders run side by side.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/hle.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Races: ART under rtm with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Rtm<Simulated>>, U64Key>>(number_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's large nodes under rtm", "[race]") {
  explore<Synchronized<Art, Tiny<Rtm<Simulated>>, U64Key>>(large_node_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART's scans under rtm, across batches", "[race]") {
  using Index = Synchronized<ArtInSmallBatches, Tiny<Rtm<Simulated>>, U64Key>;
  explore<Index>(scan_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under rtm with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Rtm<Simulated>>, BytesKey>>(string_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under rtm that neither waits nor speculates again", "[race]") {
  const std::string policy = "rtm:0,wait=0,busy_counts=0,respec=0,obey_retry=1";
  explore<Synchronized<Art, Tiny<Rtm<Simulated>>, U64Key>>(number_mixes(), policy, {.abort_rate = 0.2});
}

TEST_CASE("Races: ART under hle, emulated", "[race]") {
  explore<Synchronized<Art, Tiny<Hle<Simulated>>, U64Key>>(number_mixes(), "hle:emulated", {.abort_rate = 0.2});
}

}  // namespace
}  // namespace latchlab::testing
