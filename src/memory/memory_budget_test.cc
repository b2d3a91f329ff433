#include "src/memory/memory_budget.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "src/machine/native.h"
#include "src/machine/simulated.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Alloc = MemoryConfig::Alloc;
constexpr u64 kMiB = u64{1} << 20;

TEST_CASE("A budget refuses what does not fit, and has it again after a refund", "[memory]") {
  const MemoryBudget budget(100), copy = budget, other(100);
  CHECK(budget.bytes() == 100);
  CHECK(budget.charge(60));
  CHECK(copy.charged() == 60);
  CHECK_FALSE(copy.charge(41));
  CHECK_FALSE(copy.charge(~u64{0}));
  CHECK(budget.charged() == 60);
  CHECK(copy.charge(40));
  CHECK_FALSE(budget.charge(1));
  CHECK(budget.charge(0));
  CHECK(other.charge(100));
  copy.refund(40);
  CHECK(budget.charge(1));
  CHECK(budget.charged() == 61);

  const MemoryBudget none, zero(0);
  CHECK(none.charge(~u64{0}));
  CHECK(zero.charge(~u64{0}));
  CHECK(zero.bytes() == 0);
  CHECK(none.charged() == 0);
}

TEST_CASE("Threads that charge one budget never exceed it, and nothing of a refused charge remains", "[memory]") {
  constexpr u32 kThreads = 4, kRounds = 20'000;
  constexpr u64 kLimit = 1000;
  const MemoryBudget budget(kLimit);
  std::atomic<u64> held{0}, exceeded{0}, refused{0};
  std::atomic<u32> ready{0};
  const auto work = [&](u64 bytes) {
    ready.fetch_add(1);
    while (ready.load() != kThreads) std::this_thread::yield();
    for (u32 i = 0; i < kRounds; ++i) {
      if (!budget.charge(bytes)) {
        refused.fetch_add(1);
        continue;
      }
      // `held` is never more than the charges: bytes enter it after their charge and leave it before their refund.
      if (held.fetch_add(bytes) + bytes > kLimit || budget.charged() > kLimit) exceeded.fetch_add(1);
      if (i % 16 == 0) std::this_thread::yield();
      held.fetch_sub(bytes);
      budget.refund(bytes);
    }
  };
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) threads.emplace_back(work, 300 + t);  // three fit
  for (std::thread& thread : threads) thread.join();
  CHECK(exceeded.load() == 0);
  CHECK(refused.load() < u64{kThreads} * kRounds);
  CHECK(budget.charged() == 0);
  CHECK(budget.charge(kLimit));
}

TEST_CASE("A charge that is refused never takes the place of one that fits", "[memory]") {
  constexpr u64 kLimit = 1000, kTries = 500'000;
  const MemoryBudget budget(kLimit);
  std::atomic<bool> begun{false}, done{false};
  u64 wrong = 0;
  std::thread greedy([&] {
    for (; !done.load(kRelaxed); begun.store(true, kRelaxed)) wrong += budget.charge(kLimit + 1);
  });
  while (!begun.load()) std::this_thread::yield();
  u64 refused = 0;
  for (u64 i = 0; i < kTries; ++i) {
    if (budget.charge(kLimit)) {
      budget.refund(kLimit);
    } else {
      ++refused;
    }
  }
  done.store(true);
  greedy.join();
  CHECK(wrong == 0);
  CHECK(refused == 0);
}

/// Takes blocks of 1000 bytes until the memory refuses one.
template <class M>
std::vector<void*> filled(Pool<M>& pool) {
  std::vector<void*> blocks;
  while (void* const block = pool.allocate(1000)) {
    blocks.push_back(block);
    REQUIRE(blocks.size() < 5000);
  }
  return blocks;
}

TEST_CASE("Two memories of one configuration share its limit, and each gives back what it held", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  INFO(word(alloc));
  const MemoryConfig config{.alloc = alloc, .limit = kMiB};
  {
    Memory<Native> first(config);
    const PoolLease<Native> one(first);
    {
      Memory<Native> second(config);
      const PoolLease<Native> two(second);
      const std::vector<void*> blocks = filled(*one);
      CHECK(blocks.size() >= 900);
      CHECK(filled(*two).size() < 100);  // the last pages of the limit, into which no chunk of the first fitted
      CHECK(first.bytes().reserved + second.bytes().reserved == config.limit.charged());
      CHECK(config.limit.charged() <= kMiB);
      // Blocks of malloc are free for the other memory at once; chunks when their memory ends.
      for (void* const block : blocks) one->free(block, 1000);
      const std::vector<void*> others = filled(*two);
      CHECK(others.size() >= (alloc == Alloc::kMalloc ? 900 : 0));
      for (void* const block : others) two->free(block, 1000);
    }
    // A range that its user has not freed goes with its memory.
    Memory<Native> third(MemoryConfig{.alloc = alloc, .limit = kMiB});
    const PoolLease<Native> three(third);
    Pool<Native>::Range range;
    CHECK(three->extend(range, 100'000, kMiB) >= 100'000);
    CHECK(third.config().limit.charged() >= 100'000);
    CHECK(config.limit.charged() == first.bytes().reserved);
  }
  CHECK(config.limit.charged() == 0);
}

TEST_CASE("A memory that ends refunds its chunks, its mappings and its ranges", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena);
  INFO(word(alloc));
  const MemoryConfig config{.alloc = alloc, .limit = 16 * kMiB};
  std::optional<Memory<Native>> memory(config);
  {
    const PoolLease<Native> pool(*memory);
    void* const small = pool->allocate(100);
    void* const large = pool->allocate(3 * kMiB);
    REQUIRE(small != nullptr);
    REQUIRE(large != nullptr);
    Pool<Native>::Range kept, freed;
    REQUIRE(pool->extend(kept, 100'000, kMiB) >= 100'000);
    const u64 before = config.limit.charged();
    REQUIRE(pool->extend(freed, 100'000, kMiB) >= 100'000);
    CHECK(config.limit.charged() >= before + 100'000);
    pool->free(freed);
    CHECK(config.limit.charged() == before);
    CHECK(pool->allocate(16 * kMiB) == nullptr);
    CHECK(config.limit.charged() == before);
    pool->free(large, 3 * kMiB);
    CHECK(config.limit.charged() < before - 3 * kMiB + 4096);
    pool->free(small, 100);
  }
  CHECK(config.limit.charged() > 0);
  memory.reset();
  CHECK(config.limit.charged() == 0);
}

TEST_CASE("A machine without pages charges the same budget", "[memory]") {
  World::get().reset();
  const MemoryConfig config{.limit = 10'000};
  Memory<Simulated> first(config), second(config);
  auto& one = first.join();
  auto& two = second.join();
  void* const block = one.allocate(6000);
  REQUIRE(block != nullptr);
  CHECK(two.allocate(6000) == nullptr);
  one.free(block, 6000);
  void* const other = two.allocate(6000);
  REQUIRE(other != nullptr);
  two.free(other, 6000);
  CHECK(config.limit.charged() == 0);
}

TEST_CASE("Threads of two memories take chunks and blocks, and never more than their limit", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena);
  INFO(word(alloc));
  constexpr u64 kLimit = 4 * kMiB;
  const MemoryConfig config{.alloc = alloc, .limit = kLimit};
  std::atomic<u64> exceeded{0}, taken{0};
  {
    Memory<Native> memories[2] = {Memory<Native>(config), Memory<Native>(config)};
    const auto work = [&](u32 number) {
      const PoolLease<Native> pool(memories[number % 2]);
      std::vector<void*> blocks;
      for (u32 round = 0; round < 20; ++round) {
        while (void* const block = pool->allocate(5000)) {
          blocks.push_back(block);
          if (config.limit.charged() > kLimit) exceeded.fetch_add(1, kRelaxed);
        }
        taken.fetch_add(blocks.size(), kRelaxed);
        for (void* const block : blocks) pool->free(block, 5000);
        blocks.clear();
      }
    };
    std::vector<std::thread> threads;
    for (u32 t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    CHECK(memories[0].bytes().live + memories[1].bytes().live == 0);
  }
  CHECK(exceeded.load() == 0);
  CHECK(taken.load() >= 600);  // what fits into the limit, at least once
  CHECK(config.limit.charged() == 0);
}

}  // namespace
}  // namespace latchlab
