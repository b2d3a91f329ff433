// Indexes on the modelled machine, at their full scale: the source that Native runs, 56 fibers, two levels of costs.
#include <algorithm>
#include <string>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/scale.h"
#include "src/machine/flat_costs_testing.h"
#include "src/machine/modelled.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

constexpr u32 kFibers = 56;
constexpr u64 kKeysEach = 100;

u64 key_of(u32 fiber, u64 i) { return (u64{fiber} * kKeysEach + i) * 0x9e3779b97f4a7c15u; }

struct Modelled56 {
  u64 trace, ns, aborts;
  bool operator==(const Modelled56&) const = default;
};

/// Inserts distinct keys from 56 fibers and finds them again. Returns what happened.
template <class Index>
Modelled56 insert_and_find(const std::string& policy, MemoryConfig::Alloc alloc) {
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  Modelled56 happened{};
  {
    Index index(Spec::parse(policy), MemoryConfig{.alloc = alloc});
    std::vector<typename Index::ThreadState> states;
    states.reserve(kFibers);
    for (u32 fiber = 0; fiber < kFibers; ++fiber) states.push_back(index.join());
    testing::FlatCosts costs;
    u64 inserted = 0, found = 0;
    const auto outcome = world.run(kFibers, costs, 100'000'000, [&](u32 fiber) {
      auto& me = states[fiber];
      for (u64 i = 0; i < kKeysEach; ++i) inserted += index.insert(me, key_of(fiber, i), i);
      for (u64 i = 0; i < kKeysEach; ++i) found += index.find(me, key_of(fiber, i)) == i;
      happened.ns = std::max(happened.ns, Modelled::now());
    });
    REQUIRE(outcome.failure == "");
    happened.trace = outcome.trace;
    happened.aborts = outcome.aborts;
    CHECK(inserted == kFibers * kKeysEach);
    CHECK(found == kFibers * kKeysEach);
  }
  CHECK(world.memory().live_blocks() == 0);
  return happened;
}

template <class Index>
Modelled56 twice(const std::string& policy, MemoryConfig::Alloc alloc = MemoryConfig::Alloc::kArena) {
  const Modelled56 first = insert_and_find<Index>(policy, alloc);
  CHECK(insert_and_find<Index>(policy, alloc) == first);
  return first;
}

TEST_CASE("Modelled: 56 fibers insert and find, and a run is a function of its arguments", "[modelled]") {
  using Elided = Synchronized<Art, Rtm<Modelled>, U64Key>;
  static_assert(Elided::Policy::Layout::kScale == Scale::kReal);
  const Modelled56 elided = twice<Elided>("rtm:20");
  CHECK(elided.aborts > 0);
  const Modelled56 locked = twice<Synchronized<Art, RwSpin<Modelled>, U64Key>>("rwspin");
  CHECK(locked.aborts == 0);
  const Modelled56 optimistic = twice<Synchronized<Art, Olc<Modelled>, U64Key>>("olc");
  CHECK(optimistic.ns < locked.ns);
  (void)twice<Elided>("rtm:20", MemoryConfig::Alloc::kMalloc);
  (void)twice<Elided>("rtm:20", MemoryConfig::Alloc::kArenaTouch);
  (void)twice<Synchronized<Cuckoo, Rtm<Modelled>, U64Key>>("rtm:20");
  (void)twice<Synchronized<Cuckoo, Olc<Modelled>, U64Key>>("olc");
}

}  // namespace
}  // namespace latchlab
