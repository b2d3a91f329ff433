// What must hold of any modelled machine, whatever its values are: an index under a policy on the model of haswell-ep.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "indexes/art/art.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/machine/model_costs.h"
#include "src/machine/modelled.h"
#include "src/memory/numa.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

constexpr u64 kKeys = 20'000, kSpread = 0x9e3779b97f4a7c15u;
constexpr u64 kManyEvents = 100'000'000;

struct Ran {
  double per_ns = 0;              // operations of all threads; each had its own time
  std::vector<double> of_thread;  // the same, by name
  u64 conflicts = 0;              // attempts that were lost by one
};

/// Runs random lookups, and one update in `update_one_in` operations if that is not 0, by a thread on each of the
/// places. Thread i draws the keys of names[i]. Caches are those of haswell-ep over 256, so that lookups miss.
template <template <class> class Policy>
Ran run(const std::string& policy, const std::string& changes, const model::Placement& places,
        const std::vector<u32>& names, u64 operations_each, u64 update_one_in = 0) {
  const u32 threads = static_cast<u32>(places.size());
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  model::MachineFile file = model::MachineFile::of(Spec::parse("haswell-ep" + changes));
  file.scale_down(256);
  model::Model processor(file, places, 1);
  ModelCosts costs(processor, threads);
  struct InUse {
    explicit InUse(ModelCosts& of) { ModelledWorld::get().exchange_costs(&of); }
    ~InUse() { ModelledWorld::get().exchange_costs(nullptr); }
  } const in_use(costs);
  Ran ran;
  ran.of_thread.resize(threads);
  {
    Synchronized<Art, Policy<Modelled>, U64Key> index(Spec::parse(policy),
                                                      MemoryConfig{.alloc = MemoryConfig::Alloc::kArena});
    std::vector<typename decltype(index)::ThreadState> states;
    states.reserve(threads);
    for (u32 i = 0; i < threads; ++i) states.push_back(index.join());
    for (u64 key = 0; key < kKeys; ++key) index.insert(states[0], key * kSpread, key);
    u64 found = 0;
    const auto outcome = world.run(threads, costs, kManyEvents, [&](u32 fiber) {
      Rng rng(names[fiber]);
      for (u64 i = 0; i < operations_each; ++i) {
        const u64 key = rng.below(kKeys) * kSpread;
        if (update_one_in != 0 && rng.below(update_one_in) == 0) {
          found += index.update(states[fiber], key, i);
        } else {
          found += index.find(states[fiber], key).has_value();
        }
      }
      const double mine = static_cast<double>(operations_each) / static_cast<double>(Modelled::now());
      ran.of_thread[names[fiber]] = mine;
      ran.per_ns += mine;
    });
    REQUIRE(outcome.failure == "");
    REQUIRE(found == threads * operations_each);
    for (const model::Lost& lost : processor.lost_by_structure()) ran.conflicts += lost.count;
  }
  return ran;
}

std::vector<u32> first(u32 count) {
  std::vector<u32> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_CASE("Model properties: more latency is not more throughput, by one thread or by 56", "[modelled]") {
  for (const u32 threads : {1u, 56u}) {
    const double allowed = threads == 1 ? 1 : 1.01;
    for (const std::string key : {"dram.local", "dram.socket", "l3.ns", "l2.ns", "l1.ns", "tlb.walk_ns"}) {
      double before = 1e9;
      for (const char* const factor : {"0.5x", "1x", "2x", "4x"}) {
        CAPTURE(threads, key, factor);
        const Ran ran = run<None>("none", ":" + key + "=" + factor, first(threads), first(threads), 400);
        CHECK(ran.per_ns <= allowed * before);
        before = ran.per_ns;
      }
    }
  }
}

TEST_CASE("Model properties: one thread has no conflict, and many that update have some", "[modelled]") {
  CHECK(run<Rtm>("rtm:20", "", first(1), first(1), 3000, 2).conflicts == 0);
  CHECK(run<Rtm>("rtm:20", "", first(56), first(56), 400, 2).conflicts > 0);
}

TEST_CASE("Model properties: which fiber is on which place does not matter", "[modelled]") {
  // Thread i is on place i, as fiber i or as another one.
  const auto check = [](const auto& run_on) {
    const Ran before = run_on(first(56));
    for (const u32 seed : {1u, 2u}) {
      CAPTURE(seed);
      std::vector<u32> order = first(56);
      Rng rng(seed);
      for (u32 i = 55; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
      const Ran after = run_on(order);
      CHECK(std::abs(after.per_ns / before.per_ns - 1) < 0.02);
      double most = 0;
      for (u32 i = 0; i < 56; ++i) most = std::max(most, std::abs(after.of_thread[i] / before.of_thread[i] - 1));
      CHECK(most < 0.1);
    }
  };
  check([](const auto& order) { return run<None>("none", "", order, order, 500); });
  check([](const auto& order) { return run<Olc>("olc", "", order, order, 500, 10); });
  check([](const auto& order) { return run<RwSpin>("rwspin", "", order, order, 500); });
  check([](const auto& order) { return run<Rtm>("rtm:20", "", order, order, 2000, 10); });
}

}  // namespace
}  // namespace latchlab
