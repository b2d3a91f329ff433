#include "src/memory/attempt_blocks.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/memory/pool_lease.h"
#include "src/testing/catch.h"
#include "src/testing/death.h"

namespace latchlab {
namespace {

using Alloc = MemoryConfig::Alloc;

MemoryConfig config_of(Alloc alloc) {
  MemoryConfig config;
  config.alloc = alloc;
  return config;
}

TEST_CASE("An abandoned attempt leaks nothing and retires nothing", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  Memory<Native> memory(config_of(alloc));
  PoolLease<Native> pool(memory);
  AttemptBlocks<Native> blocks(*pool);
  void* const linked = blocks.make(64);
  std::memset(linked, 1, 64);
  blocks.keep();
  const u64 live = memory.bytes().live;
  for (int attempt = 0; attempt < 100; ++attempt) {
    REQUIRE(pool->top_up());
    for (u32 i = 0; i < AttemptBlocks<Native>::kMaxBlocks; ++i) REQUIRE(blocks.make(100 * i + 1) != nullptr);
    blocks.retire(linked, 64);
    blocks.abandon();
    REQUIRE(memory.bytes().live == live);
    blocks.free_retired();  // frees nothing: the block is linked again
    REQUIRE(memory.bytes().live == live);
    REQUIRE(blocks.take_retired().empty());
  }
  blocks.retire(linked, 64);
  blocks.free_retired();
  CHECK(memory.bytes().live == 0);
  blocks.free_retired();
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("Leaves come from far memory and go back there, and other blocks do not", "[memory]") {
  MemoryConfig config = config_of(GENERATE(Alloc::kMalloc, Alloc::kArena));
  config.far_leaves = std::make_shared<MemoryConfig>(config_of(Alloc::kArena));
  Memory<Native> memory(config);
  PoolLease<Native> pool(memory);
  AttemptBlocks<Native> blocks(*pool);
  const auto far_live = [&] { return memory.leaves()->bytes().live; };
  for (const u64 bytes : {u64{32}, u64{64}, u64{100}, u64{5000}, 2 * Pool<Native>::kLargestCarved}) {
    REQUIRE(blocks.make<true>(bytes) != nullptr);
    CHECK(far_live() >= bytes);
    CHECK(memory.bytes().live == 0);
    blocks.abandon();
    CHECK(far_live() == 0);
    REQUIRE(blocks.make(bytes) != nullptr);
    CHECK(far_live() == 0);
    blocks.abandon();
    void* const leaf = blocks.make<true>(bytes);
    blocks.keep();
    blocks.retire<true>(leaf, bytes);
    blocks.free_retired();
    CHECK(far_live() == 0);
    CHECK(memory.bytes().live == 0);
  }
}

TEST_CASE("Kept blocks stay, and retired blocks are handed over once", "[memory]") {
  Memory<Native> memory(config_of(Alloc::kArena));
  PoolLease<Native> pool(memory);
  AttemptBlocks<Native> blocks(*pool);
  void* const first = blocks.make(64);
  void* const second = blocks.make(200);
  blocks.keep();
  blocks.abandon();
  CHECK(memory.bytes().live == 64 + 256);
  blocks.retire(first, 64);
  blocks.retire(second, 200);
  struct Collector {
    u64 blocks = 0, bytes = 0;
    void retire(void*, u64 size) {
      ++blocks;
      bytes += size;
    }
  } collector;
  blocks.hand_retired_to(collector);
  blocks.hand_retired_to(collector);
  CHECK(collector.blocks == 2);
  CHECK(collector.bytes == 264);
  CHECK(memory.bytes().live == 64 + 256);
}

TEST_CASE("A transaction that aborts leaves the pool as it was", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  Memory<Emulated> memory(config_of(alloc));
  PoolLease<Emulated> pool(memory);
  AttemptBlocks<Emulated> blocks(*pool);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    REQUIRE(pool->top_up());
    const u32 status = Emulated::transact([&] {
      blocks.retire(blocks.make(64), 64);
      (void)blocks.make(2000);
      Emulated::abort<kBusyCode>();
    });
    REQUIRE(status == explicit_status(kBusyCode));
    blocks.abandon();
    REQUIRE(memory.bytes().live == 0);
  }
  CHECK(memory.bytes().chunks <= 1);
}

TEST_CASE("A transaction that aborts while a large free block is being split loses no line of it", "[memory]") {
  constexpr u64 kLarge = 2048, kBlocks = 40;
  Memory<Emulated> memory(config_of(Alloc::kArena));
  PoolLease<Emulated> pool(memory);
  AttemptBlocks<Emulated> blocks(*pool);
  std::vector<void*> large;
  for (u64 i = 0; i < kBlocks; ++i) large.push_back(pool->allocate(kLarge));
  for (void* const block : large) pool->free(block, kLarge);
  const u64 reserved = memory.bytes().reserved;
  std::set<char*> lines;  // the start of every 16 bytes that were ever handed out
  for (u64 attempt = 0; attempt < 500; ++attempt) {
    REQUIRE(pool->top_up());
    const bool aborts = attempt % 2 != 0;
    std::vector<std::pair<char*, u64>> made;
    const u32 status = Emulated::transact([&] {
      for (const u64 bytes : {16, 48, 32, 64}) made.emplace_back(static_cast<char*>(blocks.make(bytes)), bytes);
      if (aborts) Emulated::abort<kBusyCode>();
    });
    REQUIRE((status == kCommitted) == !aborts);
    if (aborts) {
      blocks.abandon();
      continue;
    }
    blocks.keep();
    for (const auto& [start, bytes] : made) {
      for (u64 offset = 0; offset < bytes; offset += 16) REQUIRE(lines.insert(start + offset).second);
    }
  }
  CHECK(memory.bytes().live == 250 * (16 + 48 + 32 + 64));
  CHECK(memory.bytes().reserved == reserved);
}

TEST_CASE("If an attempt makes or retires too many blocks, the message names the constant to raise", "[memory]") {
  constexpr u32 kTooMany = AttemptBlocks<Native>::kMaxBlocks + 1;
  Memory<Native> memory(config_of(Alloc::kArena));
  PoolLease<Native> pool(memory);
  AttemptBlocks<Native> blocks(*pool);
  const std::string made = testing::last_words([&] {
    for (u32 i = 0; i < kTooMany; ++i) (void)blocks.make(64);
  });
  const std::string retired = testing::last_words([&] {
    for (u32 i = 0; i < kTooMany; ++i) blocks.retire(nullptr, 64);
  });
  INFO(made << retired);
  CHECK(made.find("makes more than 16 blocks; raise AttemptBlocks::kMaxBlocks") != std::string::npos);
  CHECK(retired.find("retires more than 16 blocks; raise AttemptBlocks::kMaxBlocks") != std::string::npos);
}

TEST_CASE("When memory is out, make returns null and notes nothing", "[memory]") {
  FailurePlan plan;
  MemoryConfig config = config_of(GENERATE(Alloc::kMalloc, Alloc::kArena));
  config.fail = &plan;
  Memory<Native> memory(config);
  PoolLease<Native> pool(memory);
  AttemptBlocks<Native> blocks(*pool);
  REQUIRE(blocks.make(64) != nullptr);
  plan.arm(1);
  CHECK(blocks.make(64) == nullptr);
  blocks.abandon();
  CHECK(memory.bytes().live == 0);
}

}  // namespace
}  // namespace latchlab
