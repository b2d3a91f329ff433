// Tests of replicas: all of them have the same content whoever changed it, operations are one step, and the memory of
// each counts.
#include "sync/replicated.h"

#include <array>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/concepts.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/machine/emulated.h"
#include "src/machine/model_costs.h"
#include "src/machine/modelled.h"
#include "src/memory/failure_plan.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"
#include "src/testing/death.h"
#include "sync/rwspin.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

// Emulated has two nodes, with every other thread on each.
using ReplicatedArt = Replicated<Art, Nr<Emulated>>;
using SmallLog = Replicated<Art, Nr<Emulated>, nr::NoBugs, 64>;
static_assert(SharedIndex<ReplicatedArt> && kModifies<ReplicatedArt> && kModifiesBatches<ReplicatedArt> &&
              kFindsBatches<ReplicatedArt> && kChangesBatches<ReplicatedArt> && kWalksBesideWriters<ReplicatedArt>);

/// Visits all pairs, and has the index compare its replicas.
template <class Index>
std::map<u64, u64> content(Index& index) {
  auto me = index.join();
  std::map<u64, u64> pairs;
  index.for_each_at_rest(me, [&](u64 key, u64 value) { pairs.emplace(key, value); });
  return pairs;
}

TEST_CASE("replicas: threads of both nodes change keys of their own, and all replicas have them in the end") {
  for (const auto* spec : {"nr:1", "nr:2", "nr:3"}) {
    SmallLog index(Spec::parse(spec), {});
    constexpr u64 kThreads = 4, kKeys = 300;
    std::vector<std::thread> threads;
    std::array<u64, kThreads> wrong{};
    for (u64 t = 0; t < kThreads; ++t) {
      threads.emplace_back([&index, &wrong, t] {
        auto me = index.join();
        for (u64 i = 0; i < kKeys; ++i) {
          const u64 key = i * kThreads + t;
          wrong[t] += !index.insert(me, key, i);
          wrong[t] += index.insert(me, key, 7);
          wrong[t] += index.find(me, key) != i;
          wrong[t] += !index.update(me, key, i + 1);
          wrong[t] += index.modify(me, key, [](const Found& is) noexcept { return Found(*is + 1); }).after != i + 2;
          wrong[t] += index.upsert(me, key, i + 3);
          if (i % 3 == 0) wrong[t] += !index.erase(me, key);
          wrong[t] += index.find(me, key).has_value() == (i % 3 == 0);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const u64 count : wrong) CHECK(count == 0);
    std::map<u64, u64> expected;
    for (u64 key = 0; key < kThreads * kKeys; ++key) {
      if (key / kThreads % 3 != 0) expected.emplace(key, key / kThreads + 3);
    }
    CHECK(content(index) == expected);
  }
}

TEST_CASE("replicas: functions that meet on one key count every one of them once") {
  SmallLog index(Spec::parse("nr:2"), {});
  constexpr u64 kThreads = 4, kTimes = 500;
  std::vector<std::thread> threads;
  for (u64 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&index] {
      auto me = index.join();
      for (u64 i = 0; i < kTimes; ++i)
        (void)index.modify(me, 5, [](const Found& is) noexcept { return Found(is.value_or(0) + 1); });
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(content(index) == std::map<u64, u64>{{5, kThreads * kTimes}});
}

TEST_CASE("replicas: a function that another change overtakes runs again, on the new value") {
  ReplicatedArt index(Spec::parse("nr:2"), {});
  auto me = index.join(), other = index.join();
  // Another thread changes the value between the lookup and the entry of the log.
  u32 runs = 0;
  const auto overtaken = [&](u64 to) {
    if (++runs == 1) (void)index.upsert(other, 5, to);
  };
  (void)index.insert(me, 5, 1);
  const auto plus_one = [&](const Found& is) noexcept {
    overtaken(70);
    return Found(*is + 1);
  };
  CHECK(index.modify(me, 5, plus_one).before == 70);
  CHECK(runs == 2);
  CHECK(index.find(me, 5) == 71);

  runs = 0;
  const auto gone_if_odd = [&](const Found& is) noexcept {
    overtaken(80);
    return *is % 2 == 1 ? Found() : is;
  };
  CHECK(index.modify(me, 5, gone_if_odd).after == 80);
  CHECK(runs == 2);

  runs = 0;
  const auto twice = [&](u64 is) noexcept {
    overtaken(90);
    return Found(2 * is);
  };
  CHECK(index.update_if(me, 5, twice) == Changed::kChanged);
  CHECK(index.find(me, 5) == 180);

  runs = 0;
  const auto even = [&](u64 is) noexcept {
    overtaken(91);
    return is % 2 == 0;
  };
  CHECK(index.erase_if(me, 5, even) == Changed::kLeft);
  CHECK(index.find(me, 5) == 91);
}

TEST_CASE("replicas: each form of a conditional change answers as one index does") {
  ReplicatedArt index(Spec::parse("nr:2"), {});
  auto me = index.join();
  const auto none = [](u64) noexcept { return Found(); };
  const auto twice = [](u64 is) noexcept { return Found(2 * is); };
  CHECK(index.update_if(me, 1, twice) == Changed::kAbsent);
  CHECK(index.insert(me, 1, 21));
  CHECK(index.update_if(me, 1, none) == Changed::kLeft);
  CHECK(index.update_if(me, 1, twice) == Changed::kChanged);
  CHECK(index.find(me, 1) == 42);
  CHECK(index.erase_if(me, 2, [](u64) noexcept { return true; }) == Changed::kAbsent);
  CHECK(index.erase_if(me, 1, [](u64 is) noexcept { return is == 21; }) == Changed::kLeft);
  CHECK(index.erase_if(me, 1, [](u64 is) noexcept { return is == 42; }) == Changed::kChanged);
  CHECK_FALSE(index.find(me, 1));
  CHECK_FALSE(index.modify(me, 1, [](const Found&) noexcept { return Found(); }).before);
  CHECK(index.modify(me, 1, [](const Found&) noexcept { return Found(3); }).after == 3);
  CHECK_FALSE(index.modify(me, 1, [](const Found&) noexcept { return Found(); }).after);
  CHECK(content(index).empty());
}

TEST_CASE("replicas: memory is that of every replica, and all of it comes back") {
  ReplicatedArt one(Spec::parse("nr:1"), {});
  ReplicatedArt three(Spec::parse("nr:3"), {});
  const Footprint empty_one = one.bytes(), empty_three = three.bytes();
  auto me_one = one.join(), me_three = three.join();
  for (u64 i = 0; i < 1000; ++i) {
    CHECK(one.insert(me_one, i << 40, i));
    CHECK(three.insert(me_three, i << 40, i));
  }
  CHECK(three.bytes().live - empty_three.live == 3 * (one.bytes().live - empty_one.live));
  for (u64 i = 0; i < 1000; ++i) CHECK(three.erase(me_three, i << 40));
  CHECK(three.bytes().live == empty_three.live);
}

TEST_CASE("replicas: a single one that runs out of memory throws, and has changed nothing") {
  FailurePlan plan;
  ReplicatedArt index(Spec::parse("nr:1"), {.alloc = MemoryConfig::Alloc::kMalloc, .fail = &plan});
  auto me = index.join();
  plan.arm(30, FailurePlan::Then::kForEver);
  u64 inserted = 0;
  const auto fill = [&] {
    while (inserted < 1000 && index.insert(me, inserted << 40, inserted)) ++inserted;
  };
  CHECK_THROWS_AS(fill(), std::bad_alloc);
  CHECK(inserted > 10);
  plan.disarm();
  CHECK(content(index).size() == inserted);
  CHECK(index.insert(me, inserted << 40, 2));
}

TEST_CASE("replicas: several of them without memory end the process with one line") {
  const std::string words = testing::last_words([] {
    FailurePlan plan;
    ReplicatedArt index(Spec::parse("nr:2"), {.alloc = MemoryConfig::Alloc::kMalloc, .fail = &plan});
    auto me = index.join();
    plan.arm(30, FailurePlan::Then::kForEver);
    for (u64 key = 0; key < 1000; ++key) (void)index.insert(me, key << 40, key);
  });
  CHECK(words.find("nr:2: replica") != std::string::npos);
  CHECK(words.find("has no memory") != std::string::npos);
}

TEST_CASE("replicas: an index that may not grow is full on all of them, which throws") {
  Replicated<Cuckoo, Nr<Emulated>> index(Spec::parse("nr:2"), {}, Spec::parse("cuckoo:most_slots=64"));
  auto me = index.join();
  u64 inserted = 0;
  try {
    for (; inserted < 100'000; ++inserted) (void)index.insert(me, inserted, 1);
  } catch (const IndexFull&) {}
  CHECK(inserted < 100'000);
  CHECK(content(index).size() == inserted);
}

// ------------------------------------------------------------------ on a modelled machine

struct Ran {
  double per_ns = 0;  // operations of all threads; each had its own time
  u64 catch_ups = 0, led = 0;
};

/// Runs random lookups, and one update in `update_one_in` operations if that is not 0, by `threads` threads of
/// haswell-ep, 7 in each NUMA node if `step` is 1: thread i has processor i * step. Caches are those of haswell-ep over
/// 256, so that lookups miss.
template <class Index>
Ran run_on_haswell(const std::string& policy, u32 threads, u64 update_one_in, u32 step = 1) {
  constexpr u64 kKeys = 20'000, kSpread = 0x9e3779b97f4a7c15u, kOperations = 400;
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  model::MachineFile file = model::MachineFile::of(Spec::parse("haswell-ep"));
  file.scale_down(256);
  model::Placement places(threads);
  for (u32 i = 0; i < threads; ++i) places[i] = i * step;
  model::Model processor(file, places, 1);
  ModelCosts costs(processor, threads);
  struct InUse {
    explicit InUse(ModelCosts& of) { ModelledWorld::get().exchange_costs(&of); }
    ~InUse() { ModelledWorld::get().exchange_costs(nullptr); }
  } const in_use(costs);
  Ran ran;
  {
    Index index(Spec::parse(policy), MemoryConfig{.alloc = MemoryConfig::Alloc::kArena});
    std::vector<typename Index::ThreadState> states;
    states.reserve(threads);
    for (u32 i = 0; i < threads; ++i) states.push_back(index.join());
    for (u64 key = 0; key < kKeys; ++key) index.insert(states[0], key * kSpread, key);
    u64 found = 0;
    const auto outcome = world.run(threads, costs, 100'000'000, [&](u32 fiber) {
      auto& me = states[fiber];
      found += index.find(me, 0).has_value();  // brings the replica up to date
      const u64 start = Modelled::now();
      Rng rng(fiber);
      for (u64 i = 0; i < kOperations; ++i) {
        const u64 key = rng.below(kKeys) * kSpread;
        if (update_one_in != 0 && rng.below(update_one_in) == 0) {
          found += index.update(me, key, i);
        } else {
          found += index.find(me, key).has_value();
        }
      }
      ran.per_ns += static_cast<double>(kOperations) / static_cast<double>(Modelled::now() - start);
    });
    REQUIRE(outcome.failure == "");
    REQUIRE(found == threads * (kOperations + 1));
    if constexpr (requires { states[0].counters.batches; }) {
      for (const auto& me : states) ran.catch_ups += me.counters.catch_ups, ran.led += me.counters.batches;
      index.for_each_at_rest(states[0], [](u64, u64) {});
    }
  }
  CHECK(world.memory().live_blocks() == 0);
  return ran;
}

TEST_CASE("replicas: on a modelled machine lookups gain by nodes, and updates keep the replicas equal", "[modelled]") {
  using OfNodes = Replicated<Art, Nr<Modelled>>;
  using OneLock = Synchronized<Art, RwSpin<Modelled>, U64Key>;
  const Ran one_socket = run_on_haswell<OfNodes>("nr:4", 14, 0), both = run_on_haswell<OfNodes>("nr:4", 28, 0);
  CHECK(both.per_ns > 1.6 * one_socket.per_ns);
  CHECK(both.per_ns > 3 * run_on_haswell<OneLock>("rwspin", 28, 0).per_ns);
  CHECK(both.led == 20'000);    // those of the load, by one thread
  CHECK(both.catch_ups <= 28);  // of the first lookups
  const Ran updated = run_on_haswell<OfNodes>("nr:4", 28, 10);
  CHECK(updated.per_ns > run_on_haswell<OneLock>("rwspin", 28, 10).per_ns);
  CHECK(updated.catch_ups > 28);
}

TEST_CASE("replicas: each of two nodes has one, whatever their numbers", "[modelled]") {
  // Threads on nodes 0 and 2. The other replica than that of the load is behind.
  CHECK(run_on_haswell<Replicated<Art, Nr<Modelled>>>("nr:2", 2, 0, 14).catch_ups == 1);
}

TEST_CASE("nr: the number of replicas has bounds, and the nodes of a run are the default") {
  CHECK_THROWS_AS(NrOptions::parse(Spec::parse("nr:0")), InputError);
  CHECK_THROWS_AS(NrOptions::parse(Spec::parse("nr:17")), InputError);
  CHECK_THROWS_AS(NrOptions::parse(Spec::parse("nr:2,log=8")), InputError);
  CHECK(NrOptions::parse(Spec::parse("nr:16")).count() == 16);
  CHECK(NrOptions::on_nodes(Spec::parse("nr"), 4) == Spec::parse("nr:4"));
  CHECK(NrOptions::on_nodes(Spec::parse("nr"), 64) == Spec::parse("nr:16"));
  CHECK(NrOptions::on_nodes(Spec::parse("nr:3"), 4) == Spec::parse("nr:3"));
}

}  // namespace
}  // namespace latchlab
