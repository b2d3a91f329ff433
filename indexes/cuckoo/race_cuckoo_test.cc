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

/// A table with a limit of kMost slots.
template <u64 kMost>
struct Bounded {
  template <class Layout, class Key>
  struct Table : Cuckoo<Layout, Key> {
    Table() : Cuckoo<Layout, Key>(cuckoo::Options<4>{.most_slots = kMost}) {}
  };
};

/// Returns mixes that fill the table: two buckets of three slots, or the four of four slots that they become while
/// other threads still owe their splits.
std::vector<RaceMix<u64>> full_mixes(u64 slots, bool many) {
  std::vector<RaceMix<u64>> out;
  for (const RaceMix<u64>& mix : four_mixes()) {
    if (mix.preload.size() < slots && (mix.name == "homecoming") == many) out.push_back(mix);
  }
  return out;
}

template <class Policy>
void explore_full(std::string_view policy, const RaceOptions& options) {
  explore<Synchronized<Bounded<8>::Table, Policy, U64Key>>(full_mixes(6, false), policy, options);
  explore<Synchronized<Bounded<16>::Table, Policy, U64Key>>(full_mixes(16, false), policy, options);
  // A thread that needs the splits of others retries, so a schedule takes as long as ten of another mix.
  explore<Synchronized<Bounded<16>::Table, Policy, U64Key>>(full_mixes(16, true), policy, options, kRaceSchedules / 5);
}

TEST_CASE("Races: cuckoo with a table that becomes full", "[race]") {
  explore_full<Tiny<Rtm<Simulated>>>("rtm:1", {.abort_rate = 0.2});
  explore_full<Tiny<Olc<Simulated>>>("olc", {});
}

TEST_CASE("Races: cuckoo under rtm", "[race]") {
  explore<Synchronized<Cuckoo, Tiny<Rtm<Simulated>>, U64Key>>(four_mixes(), "rtm:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: cuckoo under adaptive", "[race]") {
  explore<Synchronized<Cuckoo, Tiny<Adaptive<Simulated>>, U64Key>>(four_mixes(), "adaptive", {.abort_rate = 0.2});
}

TEST_CASE("Races: cuckoo under olc", "[race]") {
  explore<Synchronized<Cuckoo, Tiny<Olc<Simulated>>, U64Key>>(four_mixes(), "olc", {});
}

TEST_CASE("Races: cuckoo under striped", "[race]") {
  explore<Synchronized<Cuckoo, Tiny<Striped<Simulated>>, U64Key>>(four_mixes(), "striped:3", {});
}

TEST_CASE("Races: cuckoo under hybrid", "[race]") {
  explore<Synchronized<Cuckoo, Tiny<Hybrid<Simulated>>, U64Key>>(four_mixes(), "hybrid:1", {.abort_rate = 0.2});
}

TEST_CASE("Races: cuckoo with three and with seven slots under olc", "[race]") {
  explore<Synchronized<Cuckoo3, Tiny<Olc<Simulated>>, U64Key>>(three_mixes(), "olc", {});
  explore<Synchronized<Cuckoo7, Tiny<Olc<Simulated>>, U64Key>>(seven_mixes(), "olc", {});
}

}  // namespace
}  // namespace latchlab::testing
