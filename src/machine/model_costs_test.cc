// Tests of the modelled machine on the model of a processor: fibers, transactions and pages together.
#include "src/machine/model_costs.h"

#include <algorithm>
#include <mutex>
#include <numeric>
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
      : threads_(static_cast<u32>(places.size())), processor(haswell(), places, 1), costs(processor, threads_) {
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

 public:
  model::Model processor;
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

TEST_CASE("model costs: what a server does takes time, and the fiber between it and the threads takes none",
          "[machine]") {
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  model::Model processor(haswell(), {0, 1, 2}, 1);
  ModelCosts costs(processor, 2, 1);
  Hot counter;
  u64 of_server = 0, of_watcher = 0;
  const std::function<void()> serve = [&] {
    for (u32 i = 0; i < 200; ++i) counter.value.fetch_add(1, kRelaxed);
    of_server = Modelled::now();
  };
  world.add_server(serve);
  const auto outcome = world.run(3, costs, kManyEvents, [&](u32 fiber) {
    if (fiber < 2) return;
    for (u32 i = 0; i < 200; ++i) counter.value.fetch_add(1, kRelaxed);
    of_watcher = Modelled::now();
  });
  world.remove_server(serve);
  CHECK(outcome.failure == "");
  CHECK(counter.value.load(kRelaxed) == 400);
  CHECK(of_watcher == 0);
  CHECK(of_server > 400);
}

TEST_CASE("model costs: the node of a fiber is the cluster of its thread, that of the watcher 0", "[machine]") {
  OnHaswell machine({0, 7, 14, 27});
  u32 nodes[4] = {};
  (void)machine.run([&](u32 fiber) { nodes[fiber] = Modelled::node(); });
  CHECK(nodes[0] == 0);
  CHECK(nodes[1] == 1);
  CHECK(nodes[2] == 2);
  CHECK(nodes[3] == 3);
  CHECK(machine.costs.node(4) == 0);
  CHECK(Modelled::node() == 0);
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

using model::Cause;

model::Ticks of(const model::Times& times, Cause cause) { return times[static_cast<std::size_t>(cause)]; }
model::Ticks sum_of(const model::Times& times) { return std::accumulate(times.begin(), times.end(), model::Ticks{0}); }

TEST_CASE("model costs: the causes of each thread add up to its time", "[machine]") {
  OnHaswell machine(first_places(32));
  std::vector<Hot> hot(64);
  Modelled::SharedMutex mutex;
  auto* const page = static_cast<Hot*>(Modelled::pages()->map(1024 * kSmallPageBytes, false, {}).start);
  std::vector<u64> ends(32);
  (void)machine.run([&](u32 fiber) {
    for (u32 i = 0; i < 300; ++i) {
      Modelled::begin_operation();
      const u32 at = (fiber * 7 + i * 13) % 64;
      switch (i % 8) {
        case 0: hot[at].value.fetch_add(1, kRelaxed); break;
        case 1: {
          const std::lock_guard lock(mutex);
          hot[at].value.store(i, kRelaxed);
          break;
        }
        case 2: Modelled::pause(); break;
        case 3: Modelled::full_fence(); break;
        case 4: page[((fiber + i) % 1024) * (kSmallPageBytes / sizeof(Hot))].value.store(1, kRelaxed); break;
        case 5: Modelled::deallocate(Modelled::allocate(48), 48); break;
        case 6: Modelled::prefetch(&hot[at], Access::kRead); break;
        default:
          (void)Modelled::transact([&] {
            for (u32 k = 0; k < 4; ++k) (void)hot[(at + k) % 64].value.load(kRelaxed);
            hot[at].value.store(i, kRelaxed);
            if (i % 16 == 7) Modelled::abort<kBusyCode>();
          });
      }
    }
    ends[fiber] = Modelled::now();
  });
  const std::vector<model::Times> times = machine.processor.times();
  REQUIRE(times.size() == 32);
  model::Times all{};
  for (u32 thread = 0; thread < 32; ++thread) {
    CHECK(sum_of(times[thread]) / model::kTicksPerNs == ends[thread]);
    for (std::size_t i = 0; i < model::kCauses; ++i) all[i] += times[thread][i];
  }
  for (const Cause cause :
       {Cause::kInstructions, Cause::kL1, Cause::kOwnCluster, Cause::kOtherSocket, Cause::kPageWalks,
        Cause::kLineInTransfer, Cause::kFences, Cause::kLocked, Cause::kTransactions, Cause::kAborted, Cause::kFaults,
        Cause::kAsleep, Cause::kPauses, Cause::kAllocations}) {
    INFO(word(cause));
    CHECK(of(all, cause) > 0);
  }
  CHECK(of(all, Cause::kIdle) == 0);
  model::Ticks lost = 0;
  for (const model::Lost& one : machine.processor.lost_by_cause()) lost += one.ticks;
  CHECK(lost > 0);
  CHECK(lost < of(all, Cause::kAborted));  // which has the aborts too
}

TEST_CASE("model costs: a lock's line is the hottest, and threads sleep on it", "[machine]") {
  OnHaswell machine(first_places(8));
  struct alignas(64) Lock {
    Modelled::SharedMutex mutex;
  } lock;
  std::vector<Hot> guarded(16);
  (void)machine.run([&](u32 fiber) {
    for (u32 i = 0; i < 200; ++i) {
      const std::lock_guard held(lock.mutex);
      guarded[(fiber + i) % 16].value.store(i, kRelaxed);
    }
  });
  const std::vector<model::HotLine> hottest = machine.processor.hottest(10);
  REQUIRE_FALSE(hottest.empty());
  const u64 line = ModelledWorld::get().memory().line_number(&lock);
  CHECK(hottest[0].line == line);
  CHECK(hottest[0].asleep > 0);
  CHECK(hottest[0].waited >= hottest[0].asleep);
  CHECK(hottest[0].reads > 0);
  CHECK(hottest[0].writes > 0);
  CHECK(hottest[0].thread_numbers() == std::vector<u32>{0, 1, 2, 3, 4, 5, 6, 7});
  for (std::size_t i = 1; i < hottest.size(); ++i) CHECK(hottest[i].asleep == 0);
}

TEST_CASE("model costs: one thread has neither conflicts nor lines of others", "[machine]") {
  OnHaswell machine({0});
  std::vector<Hot> lines(4096);
  (void)machine.run([&](u32) {
    for (u32 i = 0; i < 2000; ++i) {
      Modelled::begin_operation();
      (void)Modelled::transact([&] { lines[i * 7 % 4096].value.fetch_add(1, kRelaxed); });
    }
  });
  const model::Times times = machine.processor.times()[0];
  for (const Cause cause :
       {Cause::kOwnCluster, Cause::kOtherCluster, Cause::kOtherSocket, Cause::kLineInTransfer, Cause::kAsleep}) {
    INFO(word(cause));
    CHECK(of(times, cause) == 0);
  }
  CHECK(machine.processor.hottest(10).empty());
  CHECK(machine.processor.lost_by_structure().empty());
}

TEST_CASE("model costs: a conflict names the block or the line that was accessed", "[machine]") {
  OnHaswell machine({0, 1});
  auto* const block = new (Modelled::allocate(sizeof(Hot))) Hot;
  (void)Modelled::allocate(sizeof(Hot));  // so the first one ends
  Modelled::name(block, sizeof(Hot), "Hot");
  (void)machine.run([&](u32 fiber) {
    for (u32 i = 0; i < 100; ++i) {
      if (fiber == 1) {
        block->value.store(i, kRelaxed);
        continue;
      }
      (void)Modelled::transact([&] {
        for (u32 k = 0; k < 20; ++k) (void)block->value.load(kRelaxed);
      });
    }
  });
  REQUIRE(machine.processor.lost_by_structure().size() == 1);
  const model::Lost& lost = machine.processor.lost_by_structure()[0];
  CHECK(lost.key == sizeof(Hot));
  CHECK(lost.count > 0);
  CHECK(lost.ticks > 0);
  CHECK(ModelledWorld::get().memory().name_of_size(lost.key) == "Hot");
  REQUIRE_FALSE(machine.processor.hottest(1).empty());
  CHECK(machine.processor.hottest(1)[0].conflicts == lost.count);
}

TEST_CASE("model costs: a fiber beyond the threads takes no time", "[machine]") {
  model::Model processor(haswell(), {0}, 1);
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
