#include "src/memory/thread_context.h"

#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/machine/emulated.h"
#include "src/machine/native.h"
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
  ThreadContext<Native> context(memory);
  void* const linked = context.make_block(64);
  std::memset(linked, 1, 64);
  context.keep();
  const u64 live = memory.bytes().live;
  for (int attempt = 0; attempt < 100; ++attempt) {
    REQUIRE(context.top_up());
    for (u32 i = 0; i < ThreadContext<Native>::kMaxBlocks; ++i) REQUIRE(context.make_block(100 * i + 1) != nullptr);
    context.retire_block(linked, 64);
    context.abandon();
    REQUIRE(memory.bytes().live == live);
    context.free_retired();   // nothing: the block is linked again
    REQUIRE(memory.bytes().live == live);
    REQUIRE(context.take_retired().empty());
  }
  context.retire_block(linked, 64);
  context.free_retired();
  CHECK(memory.bytes().live == 0);
  context.free_retired();
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("Kept blocks stay and retired ones can be handed over once", "[memory]") {
  Memory<Native> memory(config_of(Alloc::kArena));
  ThreadContext<Native> context(memory);
  void* const first = context.make_block(64);
  void* const second = context.make_block(200);
  context.keep();
  context.abandon();
  CHECK(memory.bytes().live == 64 + 256);
  context.retire_block(first, 64);
  context.retire_block(second, 200);
  struct Collector {
    u64 blocks = 0, bytes = 0;
    void retire(void*, u64 size) {
      ++blocks;
      bytes += size;
    }
  } collector;
  context.hand_retired_to(collector);
  context.hand_retired_to(collector);
  CHECK(collector.blocks == 2);
  CHECK(collector.bytes == 264);
  CHECK(memory.bytes().live == 64 + 256);
}

TEST_CASE("A transaction that aborts leaves the pool as it was", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  Memory<Emulated> memory(config_of(alloc));
  ThreadContext<Emulated> context(memory);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    REQUIRE(context.top_up());
    const u32 status = Emulated::transact([&] {
      context.retire_block(context.make_block(64), 64);
      (void)context.make_block(2000);
      Emulated::abort<kBusyCode>();
    });
    REQUIRE(status == explicit_status(kBusyCode));
    context.abandon();
    REQUIRE(memory.bytes().live == 0);
  }
  CHECK(memory.bytes().chunks <= 1);
}

TEST_CASE("A transaction that aborts while a large free block is being split loses no line of it", "[memory]") {
  constexpr u64 kLarge = 2048, kBlocks = 40;
  Memory<Emulated> memory(config_of(Alloc::kArena));
  ThreadContext<Emulated> context(memory);
  std::vector<void*> large;
  for (u64 i = 0; i < kBlocks; ++i) large.push_back(context.pool().allocate(kLarge));
  for (void* const block : large) context.pool().free(block, kLarge);
  const u64 reserved = memory.bytes().reserved;
  std::set<char*> lines;   // all 16-byte places that were ever handed out
  for (u64 attempt = 0; attempt < 500; ++attempt) {
    REQUIRE(context.top_up());
    const bool aborts = attempt % 2 != 0;
    std::vector<std::pair<char*, u64>> made;
    const u32 status = Emulated::transact([&] {
      for (const u64 bytes : {16, 48, 32, 64}) made.emplace_back(static_cast<char*>(context.make_block(bytes)), bytes);
      if (aborts) Emulated::abort<kBusyCode>();
    });
    REQUIRE((status == kCommitted) == !aborts);
    if (aborts) {
      context.abandon();
      continue;
    }
    context.keep();
    for (const auto& [start, bytes] : made) {
      for (u64 offset = 0; offset < bytes; offset += 16) REQUIRE(lines.insert(start + offset).second);
    }
  }
  CHECK(memory.bytes().live == 250 * (16 + 48 + 32 + 64));
  CHECK(memory.bytes().reserved == reserved);
}

TEST_CASE("An attempt that makes or retires more blocks than the lists hold says which constant to raise", "[memory]") {
  constexpr u32 kTooMany = ThreadContext<Native>::kMaxBlocks + 1;
  Memory<Native> memory(config_of(Alloc::kArena));
  ThreadContext<Native> context(memory);
  const std::string made = testing::last_words([&] {
    for (u32 i = 0; i < kTooMany; ++i) (void)context.make_block(64);
  });
  const std::string retired = testing::last_words([&] {
    for (u32 i = 0; i < kTooMany; ++i) context.retire_block(nullptr, 64);
  });
  INFO(made << retired);
  CHECK(made.find("makes more than 16 blocks; raise ThreadContext::kMaxBlocks") != std::string::npos);
  CHECK(retired.find("retires more than 16 blocks; raise ThreadContext::kMaxBlocks") != std::string::npos);
}

TEST_CASE("A moved context keeps its pool, which returns when it ends", "[memory]") {
  Memory<Native> memory(config_of(Alloc::kArena));
  Pool<Native>* pool = nullptr;
  {
    ThreadContext<Native> first(memory);
    pool = &first.pool();
    ThreadContext<Native> second(std::move(first));
    CHECK(&second.pool() == pool);
    CHECK(&memory.join() != pool);
  }
  CHECK(&memory.join() == pool);
}

TEST_CASE("Out of memory: nothing is noted", "[memory]") {
  FailurePlan plan;
  MemoryConfig config = config_of(GENERATE(Alloc::kMalloc, Alloc::kArena));
  config.fail = &plan;
  Memory<Native> memory(config);
  ThreadContext<Native> context(memory);
  REQUIRE(context.make_block(64) != nullptr);
  plan.arm(1);
  CHECK(context.make_block(64) == nullptr);
  context.abandon();
  CHECK(memory.bytes().live == 0);
}

}  // namespace
}  // namespace latchlab
