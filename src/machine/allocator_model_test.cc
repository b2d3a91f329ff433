// Tests of the models of allocators: the blocks that they give, and what happens in a transaction.
#include "src/machine/allocator_model.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/machine/flat_costs_testing.h"
#include "src/machine/model_costs.h"
#include "src/machine/modelled.h"
#include "src/model/machine_file.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

const std::vector kAllModels{ModelledMalloc::kGlibc, ModelledMalloc::kTcmalloc, ModelledMalloc::kJemalloc,
                             ModelledMalloc::kMimalloc, ModelledMalloc::kTbb};
constexpr u64 kManySteps = 100'000'000;

/// A memory that a model serves, without virtual time.
class Served {
 public:
  explicit Served(ModelledMalloc allocator) { memory.serve_malloc_by(allocator); }

  u64 allocate(u64 bytes, u32 owner) {
    AllocatorModel& model = *memory.allocator();
    model.begin(owner);
    while (const auto call = model.needs(owner, ModelledMemory::asked(bytes))) {
      ++calls;
      REQUIRE(model.grown(owner, ModelledMemory::asked(bytes)));
    }
    return memory.address_of(memory.allocate(bytes, owner));
  }
  void deallocate(u64 block, u64 bytes, u32 owner) {
    memory.allocator()->begin(owner);
    (void)memory.deallocate(memory.at(block), bytes, owner);
  }

  ModelledMemory memory;
  u64 calls = 0;
};

/// Allocates and frees at random, by four owners; fills each block and checks it before it is freed. Returns the
/// addresses.
std::vector<u64> random_addresses(Served& served, u64 seed) {
  struct Live {
    u64 bytes;
    u8 filling;
  };
  std::map<u64, Live> live;
  std::vector<u64> addresses;
  u64 state = seed;
  for (u32 i = 0; i < 60'000; ++i) {
    const u32 owner = splitmix64(state) % 4;
    if (live.size() > 3000 || (!live.empty() && splitmix64(state) % 3 == 0)) {
      auto victim = live.lower_bound(addresses[splitmix64(state) % addresses.size()]);
      if (victim == live.end()) victim = live.begin();
      const char* const at = served.memory.at(victim->first);
      for (u64 byte = 0; byte < victim->second.bytes; ++byte) {
        if (static_cast<u8>(at[byte]) != victim->second.filling) FAIL("byte " << byte << " has changed");
      }
      served.deallocate(victim->first, victim->second.bytes, owner);
      live.erase(victim);
      continue;
    }
    const u64 bytes = 1 + splitmix64(state) % (splitmix64(state) % 16 == 0 ? 8192 : 300);
    const u64 block = served.allocate(bytes, owner);
    if (block % (bytes >= 64 ? 64 : 16) != 0) FAIL("a block of " << bytes << " bytes at " << block);
    const auto after = live.upper_bound(block);
    if (after != live.end() && block + bytes > after->first) FAIL("a block reaches into another");
    if (after != live.begin() && std::prev(after)->first + std::prev(after)->second.bytes > block)
      FAIL("a block begins in another");
    live[block] = {bytes, static_cast<u8>(i)};
    std::memset(served.memory.at(block), static_cast<u8>(i), bytes);
    addresses.push_back(block);
  }
  CHECK(served.memory.live_blocks() == live.size());
  return addresses;
}

TEST_CASE("allocator models: a live block is never handed out, and the same calls give the same addresses",
          "[machine]") {
  const ModelledMalloc allocator = GENERATE(from_range(kAllModels));
  Served one(allocator), again(allocator);
  CHECK(random_addresses(one, 1) == random_addresses(again, 1));
}

TEST_CASE("allocator models: freed memory is used again", "[machine]") {
  const ModelledMalloc allocator = GENERATE(from_range(kAllModels));
  const u64 bytes = GENERATE(16, 64, 192, 2112);
  const u32 freer = GENERATE(0, 1);  // the same thread, or another one
  Served served(allocator);
  std::vector<u64> blocks;
  u64 calls = 0;
  for (u32 round = 0; round < 20; ++round) {
    for (u32 i = 0; i < 5000; ++i) blocks.push_back(served.allocate(bytes, 0));
    for (const u64 block : std::exchange(blocks, {})) served.deallocate(block, bytes, freer);
    if (round == 1) calls = served.calls;  // caches are full by then
  }
  CHECK(calls > 0);
  CHECK(served.calls == calls);
}

TEST_CASE("allocator models: glibc frees to the arena of the block, tcmalloc to the thread", "[machine]") {
  for (const ModelledMalloc allocator : {ModelledMalloc::kGlibc, ModelledMalloc::kTcmalloc}) {
    Served served(allocator);
    const u64 block = served.allocate(100, 0);
    served.deallocate(block, 100, 1);
    const bool of_thread = served.allocate(100, 1) == block;
    CHECK(of_thread == (allocator == ModelledMalloc::kTcmalloc));
  }
}

/// A world on haswell-ep in which a model serves the blocks.
class ServedWorld {
 public:
  ServedWorld(ModelledMalloc allocator, u32 threads)
      : threads_(threads),
        model_(model::MachineFile::of(Spec::parse("haswell-ep")), places(threads), 1),
        costs_(model_, threads) {
    ModelledWorld::get().reset();
    ModelledWorld::get().memory().serve_malloc_by(allocator);
    ModelledWorld::get().exchange_costs(&costs_);
  }
  ~ServedWorld() {
    ModelledWorld::get().exchange_costs(nullptr);
    ModelledWorld::get().reset();
  }
  ServedWorld(const ServedWorld&) = delete;
  ServedWorld& operator=(const ServedWorld&) = delete;

  template <class Body>
  u64 run(const Body& body) {
    const auto outcome = ModelledWorld::get().run(threads_, costs_, kManySteps, body);
    REQUIRE(outcome.failure == "");
    return outcome.trace;
  }

 private:
  static model::Placement places(u32 threads) {
    model::Placement places(threads);
    for (u32 i = 0; i < threads; ++i) places[i] = i;
    return places;
  }

  const u32 threads_;
  model::Model model_;
  ModelCosts costs_;
};

TEST_CASE("allocator models: a call of the kernel or a first touch aborts a transaction with status zero",
          "[machine]") {
  const ModelledMalloc allocator = GENERATE(from_range(kAllModels));
  ServedWorld machine(allocator, 1);
  u32 first = kCommitted, again = kCommitted;
  std::map<u32, u32> statuses;
  std::set<void*> blocks;
  u32 taken = 0;
  machine.run([&](u32) {
    first = Modelled::transact([] { (void)Modelled::allocate(64); });  // nothing is mapped
    again = Modelled::transact([] { (void)Modelled::allocate(64); });
    for (u32 i = 0; i < 2000; ++i) {
      void* block = nullptr;
      const auto take = [&] {
        block = Modelled::allocate(64);
        Modelled::touch(block, 64, Access::kWrite);
      };
      const u32 status = Modelled::transact(take);
      ++statuses[status];
      if (status != kCommitted) {
        // The policy frees what the attempt has made; an allocation that did not return has made nothing.
        Modelled::deallocate(std::exchange(block, nullptr), 64);
        take();
      }
      blocks.insert(block);
      ++taken;
    }
  });
  CHECK(first == 0);
  CHECK(again == 0);
  CHECK(blocks.size() == taken);
  // Where glibc's top ends, all its fast lists are emptied, which may touch more lines of a set than L1 has.
  for (const auto& [status, times] : statuses) {
    INFO("status " << status << ", " << times << " times");
    CHECK((status == kCommitted || status == 0 || (allocator == ModelledMalloc::kGlibc && status == kAbortCapacity)));
  }
  CHECK(statuses[0] >= 2000 * 64 / 4096);
  CHECK(statuses[0] < 400);
  CHECK(ModelledWorld::get().memory().live_blocks() == taken);
}

/// Costs that follow the locks of allocators: words that are changed by read-modify-writes.
class WatchedLocks final : public testing::FlatCosts {
 public:
  u64 reference(const FiberReference& reference) override {
    const Event event = reference.step.event;
    const auto lock = holders_.find(reference.address);
    if (event == Event::kReadModifyWrite) {
      if (lock == holders_.end() || !lock->second) ++taken;
      auto& holder = holders_[reference.address];
      if (!holder) holder = reference.step.fiber;  // otherwise the attempt finds the lock taken
    } else if (event == Event::kStore && lock != holders_.end()) {
      if (lock->second != reference.step.fiber) ++shared;
      lock->second.reset();
    }
    return FlatCosts::reference(reference);
  }
  u32 taken = 0, shared = 0;

 private:
  std::map<u64, std::optional<u32>> holders_;
};

TEST_CASE("allocator models: one thread at a time has a lock of tcmalloc's central lists", "[machine]") {
  ModelledWorld& world = ModelledWorld::get();
  world.reset();
  world.memory().serve_malloc_by(ModelledMalloc::kTcmalloc);
  WatchedLocks costs;
  const auto outcome = world.run(16, costs, kManySteps, [](u32) {
    for (u32 i = 0; i < 300; ++i) (void)Modelled::allocate(64);
  });
  CHECK(outcome.failure == "");
  CHECK(costs.taken >= 16 * 300 / 32);
  CHECK(costs.shared == 0);
  world.reset();
}

TEST_CASE("allocator models: threads that free each other's blocks keep them apart, and a run repeats", "[machine]") {
  const ModelledMalloc allocator = GENERATE(from_range(kAllModels));
  constexpr u32 kThreads = 28, kEach = 400;
  std::vector<u64> traces;
  for (u32 run = 0; run < 2; ++run) {
    ServedWorld machine(allocator, kThreads);
    std::vector<std::vector<void*>> left(kThreads);
    std::multiset<void*> live;
    u32 twice = 0;
    traces.push_back(machine.run([&](u32 fiber) {
      for (u32 i = 0; i < kEach; ++i) {
        void* block = nullptr;
        const auto take = [&] { block = Modelled::allocate(64); };
        if (i % 2 == 0 || Modelled::transact(take) != kCommitted) {
          Modelled::deallocate(std::exchange(block, nullptr), 64);
          take();
        }
        twice += live.contains(block) ? 1 : 0;
        live.insert(block);
        std::vector<void*>& others = left[(fiber + i) % kThreads];
        if (i % 3 != 0 && !others.empty()) {
          void* const freed = others.back();
          others.pop_back();
          live.erase(freed);
          Modelled::deallocate(freed, 64);
        }
        left[fiber].push_back(block);
      }
    }));
    CHECK(twice == 0);
    CHECK(ModelledWorld::get().memory().live_blocks() == live.size());
  }
  CHECK(traces[0] == traces[1]);
}

}  // namespace
}  // namespace latchlab
