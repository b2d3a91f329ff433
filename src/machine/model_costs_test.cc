// Tests of the modelled machine on the model of a processor: fibers, transactions and pages together.
#include "src/machine/model_costs.h"

#include <algorithm>
#include <vector>

#include "src/base/spec.h"
#include "src/machine/modelled.h"
#include "src/memory/numa.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

constexpr u64 kManyEvents = 10'000'000;

struct alignas(64) Hot {
  Modelled::Atomic<u64> value{0};
};

model::MachineFile haswell() { return model::MachineFile::of(Spec::parse("haswell-ep")); }

/// A fresh world on haswell-ep, whose fiber i is on hardware thread places[i].
class OnHaswell {
 public:
  explicit OnHaswell(const model::Placement& places)
      : threads_(static_cast<u32>(places.size())), model_(haswell(), places), costs(model_, threads_) {
    ModelledWorld::get().reset();
    ModelledWorld::get().exchange_costs(&costs);
  }
  ~OnHaswell() { ModelledWorld::get().exchange_costs(nullptr); }
  OnHaswell(const OnHaswell&) = delete;
  OnHaswell& operator=(const OnHaswell&) = delete;

  /// Runs the fibers and returns the ns until the last has ended.
  template <class Body>
  u64 run(const Body& body) {
    u64 last = 0;
    const auto outcome = ModelledWorld::get().run(threads_, costs, kManyEvents, [&](u32 fiber) {
      body(fiber);
      last = std::max(last, Modelled::now());
    });
    REQUIRE(outcome.failure == "");
    trace = outcome.trace;
    costs.start_at((last + 1) * ModelledWorld::kTicksPerNs);
    return last;
  }

 private:
  const u32 threads_;
  model::Model model_;

 public:
  ModelCosts costs;
  u64 trace = 0;
};

model::Placement first_places(u32 threads) {
  model::Placement places(threads);
  for (u32 i = 0; i < threads; ++i) places[i] = i;
  return places;
}

/// Returns the ns in which each thread adds 200 times, to one counter or to its own.
u64 ns_of_additions(const model::Placement& places, bool shared) {
  OnHaswell machine(places);
  std::vector<Hot> counters(places.size());
  return machine.run([&](u32 fiber) {
    for (u32 i = 0; i < 200; ++i) counters[shared ? 0 : fiber].value.fetch_add(1, kRelaxed);
  });
}

TEST_CASE("model costs: a hot counter is slower with threads and with distance", "[machine]") {
  const u64 alone = ns_of_additions({0}, true);
  CHECK(ns_of_additions(first_places(56), false) < 3 * alone);
  CHECK(ns_of_additions(first_places(56), true) > 20 * alone);
  const u64 near = ns_of_additions({0, 1}, true), other_cluster = ns_of_additions({0, 7}, true),
            other_socket = ns_of_additions({0, 14}, true);
  CHECK(alone < near);
  CHECK(near < other_cluster);
  CHECK(other_cluster < other_socket);
}

TEST_CASE("model costs: the same places give the same run", "[machine]") {
  std::vector<u64> traces;
  for (u32 run = 0; run < 2; ++run) {
    OnHaswell machine(first_places(28));
    Hot hot[4];
    (void)machine.run([&](u32 fiber) {
      for (u32 i = 0; i < 100; ++i) {
        (void)Modelled::transact([&] { hot[(fiber + i) % 4].value.fetch_add(1, kRelaxed); });
      }
    });
    traces.push_back(machine.trace);
  }
  CHECK(traces[0] == traces[1]);
}

TEST_CASE("model costs: L1 limits what a transaction writes", "[machine]") {
  OnHaswell machine({0});
  constexpr u32 kLines = 1024;  // twice the lines of L1
  std::vector<Hot> lines(kLines);
  std::vector<u32> statuses;
  (void)machine.run([&](u32) {
    for (const u32 written : {100u, kLines}) {
      for (u32 i = 0; i < written; ++i) lines[i].value.store(1, kRelaxed);  // no fault happens inside then
      statuses.push_back(Modelled::transact([&] {
        for (u32 i = 0; i < written; ++i) lines[i].value.store(2, kRelaxed);
      }));
    }
  });
  REQUIRE(statuses.size() == 2);
  CHECK(statuses[0] == kCommitted);
  CHECK((statuses[1] & kAbortCapacity) != 0);
  CHECK(lines[50].value.load(kRelaxed) == 1);
}

TEST_CASE("model costs: a first touch aborts a transaction, and loading touches without taking time", "[machine]") {
  OnHaswell machine({0});
  auto* const page = static_cast<Hot*>(Modelled::pages()->map(2 * kSmallPageBytes, false, {}).start);
  REQUIRE(page != nullptr);
  Hot* const loaded = page + kSmallPageBytes / sizeof(Hot);
  machine.costs.load(true);
  CHECK(machine.run([&](u32) { loaded->value.store(1, kRelaxed); }) == 0);
  machine.costs.load(false);
  u32 of_fresh = kCommitted, of_loaded = 0;
  (void)machine.run([&](u32) {
    of_fresh = Modelled::transact([&] { page->value.store(1, kRelaxed); });
    of_loaded = Modelled::transact([&] { loaded->value.store(2, kRelaxed); });
  });
  CHECK(of_fresh == 0);
  CHECK(of_loaded == kCommitted);
  CHECK(page->value.load(kRelaxed) == 0);
}

TEST_CASE("model costs: an attempt that was aborted leaves no lines to the next one", "[machine]") {
  OnHaswell machine({0});
  std::vector<Hot> lines(1024);  // twice the lines of L1
  std::vector<u32> statuses;
  (void)machine.run([&](u32) {
    for (Hot& line : lines) line.value.store(1, kRelaxed);
    for (u32 i = 0; i < 16; ++i) {
      statuses.push_back(Modelled::transact([&] {
        for (u32 k = 0; k < 64; ++k) lines[i * 64 + k].value.store(2, kRelaxed);
        Modelled::abort<kBusyCode>();
      }));
    }
  });
  CHECK(statuses == std::vector<u32>(16, explicit_status(kBusyCode)));
}

TEST_CASE("model costs: a fiber beyond the threads takes no time", "[machine]") {
  model::Model processor(haswell(), {0});
  ModelCosts costs(processor, 1);
  ModelledWorld::get().reset();
  Hot hot;
  u64 watched = 1;
  const auto outcome = ModelledWorld::get().run(2, costs, kManyEvents, [&](u32 fiber) {
    for (u32 i = 0; i < 50; ++i) hot.value.fetch_add(1, kRelaxed);
    if (fiber == 1) watched = Modelled::now();
  });
  CHECK(outcome.failure == "");
  CHECK(watched == 0);
}

}  // namespace
}  // namespace latchlab
