// kvdirect on the race finder.
#include "indexes/kvdirect/kvdirect.h"
#include "indexes/kvdirect/race_mixes_test.h"
#include "sync/adaptive.h"
#include "sync/rtm.h"
#include "sync/seq.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

template <class Policy>
void explore_kvdirect(std::string_view policy, const RaceOptions& options) {
  explore<Synchronized<KvDirect, Tiny<Policy>, U64Key>>(kvdirect_pointer_mixes(), policy, options);
  explore<Synchronized<KvDirectInline, Tiny<Policy>, U64Key>>(kvdirect_inline_mixes(), policy, options);
}

TEST_CASE("Races: kvdirect under rtm", "[race]") { explore_kvdirect<Rtm<Simulated>>("rtm:1", {.abort_rate = 0.2}); }

TEST_CASE("Races: kvdirect under adaptive", "[race]") {
  explore_kvdirect<Adaptive<Simulated>>("adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: kvdirect under seq", "[race]") { explore_kvdirect<Seq<Simulated>>("seq", {}); }

TEST_CASE("Races: kvdirect under striped", "[race]") { explore_kvdirect<Striped<Simulated>>("striped:3", {}); }

TEST_CASE("Races: kvdirect under striped, with a stripe for each node", "[race]") {
  explore_kvdirect<Striped<Simulated>>("striped:1024", {});
}

}  // namespace
}  // namespace latchlab::testing
