// ART under optimistic lock coupling, on the race finder.
#include <array>
#include <new>
#include <optional>
#include <string>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// ART under olc with quiescent-state reclamation, so that operations announce no epoch.
struct UnderQsbr : Synchronized<Art, Tiny<Olc<Simulated>>, U64Key> {
  UnderQsbr(const Spec& policy, MemoryConfig memory) : Synchronized(policy, with_qsbr(memory)) {}
  static MemoryConfig with_qsbr(MemoryConfig memory) {
    memory.reclaim = Reclaim::kQsbr;
    return memory;
  }
};

TEST_CASE("Races: ART under olc with numbers", "[race]") {
  explore<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(number_mixes(), "olc", {});
}

TEST_CASE("Races: ART under olc with numbers, reclaimed at quiescent states", "[race]") {
  explore<UnderQsbr>(number_mixes(), "olc", {});
}

TEST_CASE("Races: ART's large nodes under olc", "[race]") {
  explore<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(large_node_mixes(), "olc", {});
}

TEST_CASE("Races: ART's scans under olc, within a batch and across batches", "[race]") {
  explore<Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>>(scan_mixes(), "olc", {});
  explore<Synchronized<ArtInSmallBatches, Tiny<Olc<Simulated>>, U64Key>>(scan_mixes(), "olc", {});
}

TEST_CASE("Races: ART under olc with strings", "[race]") {
  explore<Synchronized<Art, Tiny<Olc<Simulated>>, BytesKey>>(string_mixes(), "olc", {});
}

/// Erasures while memory is out. One fiber looks up once and its thread stays joined; the others erase as many keys as
/// they can.
template <Reclaim kReclaim>
struct StarvedErasures {
  using Index = Synchronized<Art, Tiny<Olc<Simulated>>, U64Key>;
  static constexpr u32 kFibers = 3, kKeysEach = 24;

  StarvedErasures() {
    for (std::optional<Index::ThreadState>& thread : threads) thread.emplace(index);
    for (u32 id = 1; id < kFibers; ++id) {
      for (u32 i = 0; i < kKeysEach; ++i) (void)index.insert(*threads[0], key(id, i), i);
    }
    index.idle(*threads[0]);
    plan.arm(1, FailurePlan::Then::kForEver);
  }
  static u64 key(u32 id, u32 i) { return spelled({1, id + 2 * i}); }

  void fiber(u32 id) {
    if (id == 0) {
      (void)index.find(*threads[0], key(1, 0));
      return;
    }
    for (u32 i = 0; i < kKeysEach; ++i) {
      try {
        expect(index.erase(*threads[id], key(id, i)), "a key was not there");
        erased[id] |= 1u << i;
      } catch (const std::bad_alloc&) {}
    }
  }
  std::string check() {
    for (u32 id = 1; id < kFibers; ++id) {
      for (u32 i = 0; i < kKeysEach; ++i) {
        const bool there = index.find(*threads[0], key(id, i)).has_value();
        if (there == ((erased[id] >> i & 1) != 0))
          return "an erasure that was refused took effect, or one that succeeded did not";
      }
    }
    for (std::optional<Index::ThreadState>& thread : threads) thread.reset();
    const ReclaimCounters counters = index.reclaim_counters();
    if (counters.retired == 0) return "nothing was retired";
    if (kReclaim != Reclaim::kLeak && counters.pending != 0) return "garbage is left";
    return {};
  }

  FailurePlan plan;
  Index index{Spec::parse("olc"), {.reclaim = kReclaim, .fail = &plan}};
  std::array<std::optional<Index::ThreadState>, kFibers> threads;
  std::array<u32, kFibers> erased{};
};

template <Reclaim kReclaim>
void explore_starved_erasures() {
  using Scenario = StarvedErasures<kReclaim>;
  // A schedule has about 2000 events. The limit bounds the steps of an erasure; a wait without end is reported as a
  // deadlock.
  const RaceReport report =
      find_races<Scenario>({.schedules = 2000, .fibers = Scenario::kFibers, .event_limit = 20'000});
  INFO(word(kReclaim) << ": " << report.str());
  CHECK(report.failures == 0);
}

TEST_CASE("Races: erasures under olc wait for no idle thread when memory is out", "[race]") {
  explore_starved_erasures<Reclaim::kEpoch>();
  explore_starved_erasures<Reclaim::kEpochFence>();
  explore_starved_erasures<Reclaim::kQsbr>();
  explore_starved_erasures<Reclaim::kLeak>();
}

}  // namespace
}  // namespace latchlab::testing
