// Tests of the modelled machine: what its costs see, and how its transactions end.
#include "src/machine/modelled.h"

#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/machine/flat_costs_testing.h"
#include "src/memory/numa.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::FlatCosts;

constexpr u64 kNs = ModelledWorld::kTicksPerNs;
constexpr u64 kMany = 10'000'000;

/// Costs that keep what they are told, and end transactions as the test says.
class Told : public FlatCosts {
 public:
  u64 reference(const FiberReference& reference) override {
    references.push_back(reference);
    ended_.clear();
    if (ends) ended_ = ends(reference);
    return reference_ns * kNs;
  }
  u64 cost(const FiberStep& step) override {
    steps.push_back(step.event);
    ended_.clear();
    return kNs;
  }
  u64 trap(u32, KernelCall, u64) override {
    ++traps;
    return 1000 * kNs;
  }
  u64 begin_operation(u32, u64) override { return 7 * kNs; }
  std::span<const EndedTransaction> ended() override { return ended_; }
  void undone(u32 fiber, u32, u64 clock) override { undone_at.emplace_back(fiber, clock / kNs); }
  void mapped(u64 address, u64 bytes, bool, const PagePlacement&) override { mappings.emplace_back(address, bytes); }
  void unmapped(u64 address, u64 bytes) override { std::erase(mappings, std::pair(address, bytes)); }
  void allocated(u32, u64 address, u64 bytes) override { blocks.emplace_back(address, bytes); }
  void freed(u32, u64 address, u64 bytes) override { std::erase(blocks, std::pair(address, bytes)); }

  u64 reference_ns = 10;
  std::function<std::vector<EndedTransaction>(const FiberReference&)> ends;
  std::vector<FiberReference> references;
  std::vector<Event> steps;
  std::vector<std::pair<u32, u64>> undone_at;
  std::vector<std::pair<u64, u64>> mappings, blocks;
  u32 traps = 0;

 private:
  std::vector<EndedTransaction> ended_;
};

/// Runs fibers in a fresh world and returns the outcome, which must not be a failure.
ModelledWorld::Outcome run_modelled(u32 fibers, Costs& costs, const std::function<void(u32)>& body) {
  const auto outcome = ModelledWorld::get().run(fibers, costs, kMany, body);
  REQUIRE(outcome.failure == "");
  return outcome;
}

struct alignas(64) Counter {
  Modelled::Atomic<u64> value{0};
};

TEST_CASE("modelled: a reference tells its bytes, its block and its transaction", "[machine]") {
  ModelledWorld::get().reset();
  struct alignas(64) Node {
    Modelled::Plain<u64> first{1};
    Modelled::PlainRow<u8, 16> row;
    Modelled::RacyRow<u8, 16> racy;
    Modelled::Plain<u64> rest[16];
  };
  Told costs;
  bool right = false;
  run_modelled(1, costs, [&](u32) {
    auto* const node = new (Modelled::allocate(sizeof(Node))) Node;
    auto* const other = new (Modelled::allocate(16)) Modelled::Plain<u64>(2);
    (void)node->first.load();
    (void)node->row.load_all();
    (void)node->racy.load_all();
    Modelled::transact([&] { node->rest[15].store(3); });
    (void)other->load();
    Modelled::prefetch(&node->rest[8], Access::kRead);
    Modelled::prefetch(nullptr, Access::kRead);
    Modelled::full_fence();
    right = node->rest[15].load() == 3;
  });
  CHECK(right);
  REQUIRE(costs.references.size() == 7);
  const u64 block = costs.references[0].address;
  CHECK(block % 64 == 0);
  for (const u32 i : {0u, 1u, 2u, 3u, 5u, 6u}) CHECK(costs.references[i].block == block);
  CHECK(costs.references[4].block == costs.references[4].address);
  CHECK(costs.references[4].block != block);
  CHECK(costs.references[0].bytes == 8);
  CHECK(costs.references[1].bytes == 16);
  CHECK(costs.references[2].bytes == 16);
  CHECK(costs.references[3].address == block + offsetof(Node, rest) + 15 * 8);
  for (const u32 i : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) CHECK(costs.references[i].in_transaction == (i == 3));
  CHECK(costs.references[5].step.event == Event::kPrefetch);
  CHECK(costs.steps == std::vector{Event::kMemory, Event::kMemory, Event::kBegin, Event::kCommit, Event::kFence});
}

TEST_CASE("modelled: a transaction that loses a conflict is left at the winner's time", "[machine]") {
  ModelledWorld::get().reset();
  Told costs;
  costs.reference_ns = 100;
  Counter counter, beside;
  std::vector<u32> statuses;
  u64 left_at = 0;
  run_modelled(2, costs, [&](u32 fiber) {
    if (fiber == 1) {
      ModelledWorld::spend(150);
      counter.value.fetch_add(1, kRelaxed);  // at 150 ns
      return;
    }
    const u32 status = Modelled::transact([&] {
      counter.value.fetch_add(1, kRelaxed);                              // ends at about 100 ns
      for (u32 i = 0; i < 10; ++i) beside.value.fetch_add(1, kRelaxed);  // the first ends at about 200 ns
    });
    left_at = Modelled::now();
    statuses.push_back(status);
  });
  CHECK(statuses == std::vector{kAbortConflict | kAbortRetry});
  CHECK(counter.value.load(kRelaxed) == 1);
  CHECK(beside.value.load(kRelaxed) == 0);
  CHECK(costs.undone_at == std::vector{std::pair(0u, u64{150})});
  CHECK(left_at == 151);  // the step kAbort takes one ns
}

TEST_CASE("modelled: the processor ends transactions, the fiber's own and others", "[machine]") {
  ModelledWorld::get().reset();
  Told costs;
  Counter mine[2];
  std::vector<u32> statuses(2, kCommitted);
  SECTION("its own: the reference does not take place") {
    costs.ends = [&](const FiberReference& reference) -> std::vector<EndedTransaction> {
      if (!reference.in_transaction || costs.references.size() != 3) return {};
      return {{reference.step.fiber, kAbortCapacity}};
    };
    run_modelled(1, costs, [&](u32) {
      statuses[0] = Modelled::transact([&] {
        for (u32 i = 0; i < 5; ++i) mine[0].value.fetch_add(1, kRelaxed);
      });
    });
    CHECK(statuses[0] == kAbortCapacity);
    CHECK(mine[0].value.load(kRelaxed) == 0);
    CHECK(costs.references.size() == 3);
  }
  SECTION("another's") {
    costs.ends = [&](const FiberReference& reference) -> std::vector<EndedTransaction> {
      if (reference.step.fiber != 1) return {};
      return {{0, kAbortCapacity | kAbortRetry}};
    };
    run_modelled(2, costs, [&](u32 fiber) {
      if (fiber == 1) {
        ModelledWorld::spend(25);
        mine[1].value.fetch_add(1, kRelaxed);
        return;
      }
      statuses[0] = Modelled::transact([&] {
        for (u32 i = 0; i < 5; ++i) mine[0].value.fetch_add(1, kRelaxed);
      });
    });
    CHECK(statuses[0] == (kAbortCapacity | kAbortRetry));
    CHECK(mine[0].value.load(kRelaxed) == 0);
    CHECK(mine[1].value.load(kRelaxed) == 1);
    CHECK(costs.undone_at == std::vector{std::pair(0u, u64{25})});
  }
}

TEST_CASE("modelled: a call of the kernel takes its time, and aborts a transaction with status zero", "[machine]") {
  ModelledWorld::get().reset();
  Told costs;
  u32 status = kCommitted;
  run_modelled(1, costs, [&](u32) {
    const auto mapping = Modelled::pages()->map(1 << 20, false, {});
    status = Modelled::transact([&] { (void)Modelled::pages()->map(1 << 20, false, {}); });
    Modelled::pages()->unmap(mapping.start, 1 << 20);
  });
  CHECK(status == 0);
  CHECK(costs.traps == 2);
  CHECK(costs.mappings.empty());
}

TEST_CASE("modelled: time has sixteenths of a nanosecond, and fibers number 256", "[machine]") {
  ModelledWorld::get().reset();
  struct Slow : FlatCosts {
    u64 reference(const FiberReference&) override { return 1; }
  } costs;
  Counter counter;
  u64 latest = 0;
  run_modelled(256, costs, [&](u32) {
    for (u32 i = 0; i < 10; ++i) counter.value.fetch_add(1, kRelaxed);
    latest = std::max(latest, Modelled::now());
  });
  CHECK(counter.value.load(kRelaxed) == 2560);
  CHECK(latest == 0);  // 10 sixteenths
  CHECK_THROWS_AS(ModelledWorld::get().run(257, costs, kMany, [](u32) {}), std::invalid_argument);
}

TEST_CASE("modelled: an elided lock of 200 fibers loses no update", "[machine]") {
  ModelledWorld::get().reset();
  FlatCosts costs;
  Counter counters[3];
  alignas(64) Modelled::Atomic<u32> lock{0};
  u32 fallbacks = 0;
  const auto outcome = run_modelled(200, costs, [&](u32 fiber) {
    for (u32 i = 0; i < 20; ++i) {
      const auto add = [&] {
        auto& value = counters[(fiber + i) % 3].value;
        value.store(value.load(kRelaxed) + 1, kRelaxed);
      };
      const auto elided = [&] {
        if (!lock.is(0)) Modelled::abort<kBusyCode>();
        add();
      };
      u32 attempts = 0;
      while (attempts < 3 && Modelled::transact(elided) != kCommitted) ++attempts;
      if (attempts < 3) continue;
      u32 free = Modelled::wait_until(lock, [](u32 word) { return word == 0; });
      while (!lock.compare_exchange(free, 1, kAcquire)) {  // pairs with the store below
        free = Modelled::wait_until(lock, [](u32 word) { return word == 0; });
      }
      add();
      ++fallbacks;
      lock.store(0, kRelease);  // pairs with the exchange above
    }
  });
  CHECK(counters[0].value.load(kRelaxed) + counters[1].value.load(kRelaxed) + counters[2].value.load(kRelaxed) == 4000);
  CHECK(outcome.aborts > 1000);
  CHECK(fallbacks > 0);
}

/// Returns the virtual ns for 100 additions of each of so many fibers, to one counter or to one each.
u64 time_of_additions(u32 fibers, bool shared) {
  ModelledWorld::get().reset();
  FlatCosts costs;
  std::vector<Counter> counters(fibers);
  u64 latest = 0;
  run_modelled(fibers, costs, [&](u32 fiber) {
    for (u32 i = 0; i < 100; ++i) counters[shared ? 0 : fiber].value.fetch_add(1, kRelaxed);
    latest = std::max(latest, Modelled::now());
  });
  return latest;
}

TEST_CASE("modelled: a shared line is passed on, and lines of one fiber cost the same beside others", "[machine]") {
  CHECK(time_of_additions(56, false) == time_of_additions(1, false));
  CHECK(time_of_additions(1, true) == time_of_additions(1, false));
  CHECK(time_of_additions(56, true) > 50 * 56 * 90);
}

TEST_CASE("modelled: an operation's own instructions take time without an event", "[machine]") {
  ModelledWorld::get().reset();
  Told costs;
  const auto outcome = run_modelled(1, costs, [&](u32) {
    ModelledWorld::get().begin_operation();
    CHECK(Modelled::now() == 7);
  });
  CHECK(outcome.events == 0);
  ModelledWorld::get().begin_operation();  // outside virtual time: no effect
}

TEST_CASE("modelled: costs outside virtual time are told about blocks and pages", "[machine]") {
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  Told costs;
  world.exchange_costs(&costs);
  void* const block = Modelled::allocate(100);
  const auto mapping = Modelled::pages()->map(1 << 21, true, {});
  CHECK(mapping.huge);
  CHECK(reinterpret_cast<u64>(mapping.start) % kHugePageBytes == 0);
  CHECK(costs.blocks.size() == 1);
  CHECK(costs.mappings == std::vector{std::pair(world.memory().address_of(mapping.start), u64{1} << 21)});
  FlatCosts others;
  run_modelled(1, others, [&](u32) {});
  Modelled::deallocate(block, 100);
  Modelled::pages()->unmap(mapping.start, 1 << 21);
  CHECK(world.exchange_costs(nullptr) == &costs);
  CHECK(costs.blocks.empty());
  CHECK(costs.mappings.empty());
  CHECK(costs.traps == 0);
  CHECK(world.memory().live_blocks() == 0);
}

}  // namespace
}  // namespace latchlab
