#include "src/memory/pool.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/memory/memory.h"
#include "src/memory/pool_lease.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Alloc = MemoryConfig::Alloc;
using Then = FailurePlan::Then;

constexpr u64 kSizes[] = {
    1,      8,    15,   16,   17,   24,   31,   32,   33,   48,    63,     64,     65,      100,
    128,    1000, 1024, 4032, 4095, 4096, 4097, 8192, 9000, 65536, 100000, 500000, 1 << 20, (1 << 20) + 1,
    5 << 20};

MemoryConfig with(Alloc alloc, bool thp = false) {
  MemoryConfig config;
  config.alloc = alloc;
  config.thp = thp;
  return config;
}

struct Held {
  unsigned char* at;
  u64 bytes;
  unsigned char mark;
};

bool holds_its_mark(const Held& held) {
  for (u64 i = 0; i < held.bytes; ++i) {
    if (held.at[i] != held.mark) return false;
  }
  return true;
}

u64 resident_pages(const void* at, u64 bytes) {
  std::vector<unsigned char> pages(bytes / kSmallPageBytes);
  REQUIRE(mincore(const_cast<void*>(at), bytes, pages.data()) == 0);
  u64 resident = 0;
  for (const unsigned char page : pages) resident += page & 1;
  return resident;
}

TEST_CASE("Blocks of every size and kind are aligned and disjoint, and all can be freed", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  const bool thp = GENERATE(false, true);
  INFO(word(alloc) << (thp ? " thp" : ""));
  Memory<Native> memory(with(alloc, thp));
  Pool<Native>& pool = memory.join();
  std::vector<Held> held;
  u64 asked = 0;
  for (int round = 0; round < 5; ++round) {
    for (const u64 bytes : kSizes) {
      auto* const at = static_cast<unsigned char*>(pool.allocate(bytes));
      REQUIRE(at != nullptr);
      const u64 alignment = bytes <= 16 ? 16 : bytes <= 32 ? 32 : 64;
      CHECK(reinterpret_cast<u64>(at) % alignment == 0);
      held.push_back({at, bytes, static_cast<unsigned char>(held.size())});
      std::memset(at, held.back().mark, bytes);
      asked += bytes;
    }
  }
  for (const Held& one : held) CHECK(holds_its_mark(one));
  const Footprint full = memory.bytes();
  CHECK(full.live >= asked);
  CHECK(full.reserved >= full.live);
  for (const Held& one : held) pool.free(one.at, one.bytes);
  CHECK(memory.bytes().live == 0);
  memory.leave(pool);
}

TEST_CASE("Random blocks of two pools never overlap, and no byte is live after the last free", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  std::mt19937_64 random(test_seed());
  Memory<Native> memory(with(alloc));
  Pool<Native>* const pools[] = {&memory.join(), &memory.join()};
  std::vector<Held> held;
  bool intact = true;
  for (int step = 0; step < 20000; ++step) {
    Pool<Native>& pool = *pools[random() % 2];
    if (held.size() < 20 || random() % 2 == 0) {
      const u64 bytes = random() % 100 == 0 ? 1 + random() % 70000 : 1 + random() % 300;
      auto* const at = static_cast<unsigned char*>(pool.allocate(bytes));
      REQUIRE(at != nullptr);
      held.push_back({at, bytes, static_cast<unsigned char>(random())});
      std::memset(at, held.back().mark, bytes);
    } else {
      std::swap(held[random() % held.size()], held.back());
      intact = intact && holds_its_mark(held.back());
      pool.free(held.back().at, held.back().bytes);  // often not the pool that the block came from
      held.pop_back();
    }
  }
  CHECK(intact);
  for (const Held& one : held) pools[0]->free(one.at, one.bytes);
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("A freed block is the next one that its class hands out", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>& pool = memory.join();
  for (const u64 bytes : {16, 32, 64, 192, 4096, 8000, 1 << 20}) {
    void* const first = pool.allocate(bytes);
    void* const second = pool.allocate(bytes);
    pool.free(first, bytes);
    pool.free(second, bytes);
    CHECK(pool.allocate(bytes) == second);
    CHECK(pool.allocate(bytes) == first);
  }
}

TEST_CASE("A line is split into pieces without loss", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>& pool = memory.join();
  auto* const first = static_cast<char*>(pool.allocate(16));
  for (int i = 1; i < 4; ++i) CHECK(pool.allocate(16) == static_cast<void*>(first + 16 * i));
  auto* const half = static_cast<char*>(pool.allocate(32));
  CHECK(pool.allocate(32) == static_cast<void*>(half + 32));
  CHECK(memory.bytes().live == 128);
}

TEST_CASE("A line holds a block of 48 bytes and one of 16", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>& pool = memory.join();
  auto* const large = static_cast<char*>(pool.allocate(48));
  CHECK(pool.allocate(16) == large + 48);
}

TEST_CASE("Small blocks use up the large free blocks, if there are many, before new memory", "[memory]") {
  constexpr u64 kLarge = 832, kBlocks = 1000;  // 13 lines: not a multiple of the 4 that are split at once
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>& pool = memory.join();
  std::vector<void*> blocks;
  for (u64 i = 0; i < kBlocks; ++i) blocks.push_back(pool.allocate(kLarge));
  for (void* const block : blocks) pool.free(block, kLarge);
  const u64 reserved = memory.bytes().reserved;
  std::vector<Held> held;
  u64 taken = 0;
  while (taken < (kBlocks - 100) * kLarge) {  // some blocks stay unsplit for later nodes
    for (const u64 bytes : {16, 32, 48, 64}) {
      held.push_back(
          {static_cast<unsigned char*>(pool.allocate(bytes)), bytes, static_cast<unsigned char>(held.size())});
      std::memset(held.back().at, held.back().mark, bytes);
      taken += bytes;
    }
  }
  CHECK(memory.bytes().reserved == reserved);
  CHECK(memory.bytes().live == taken);
  bool intact = true;
  for (const Held& one : held) intact = intact && holds_its_mark(one);
  CHECK(intact);
  for (u64 i = 0; i < 10; ++i) CHECK(pool.allocate(kLarge) != nullptr);  // from the blocks that stayed unsplit
  CHECK(memory.bytes().reserved == reserved);
}

TEST_CASE("An attempt gets all of its bytes also if some are in small blocks", "[memory]") {
  Memory<Emulated> memory(with(Alloc::kArenaTouch));
  Pool<Emulated>& pool = memory.join();
  REQUIRE(pool.top_up());
  for (u64 left = memory.bytes().reserved; left > Pool<Emulated>::kAttemptBytes; left -= 128) (void)pool.allocate(128);
  REQUIRE(pool.top_up());
  REQUIRE(memory.bytes().chunks == 1);  // so the attempt has exactly kAttemptBytes
  CHECK(Emulated::transact([&] {
          for (const u64 bytes : {16, 32, 48, 64}) (void)pool.allocate(bytes);  // a line each
          for (u64 left = Pool<Emulated>::kAttemptBytes - 4 * kLineBytes; left != 0; left -= 128)
            (void)pool.allocate(128);
        }) == kCommitted);
}

TEST_CASE("The tail of an old region becomes a free block", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>& pool = memory.join();
  auto* const first = static_cast<char*>(pool.allocate(4032));
  const u64 chunk = memory.bytes().reserved;
  const u64 fit = chunk / 4032;
  const u64 tail = chunk % 4032;
  REQUIRE(tail >= 64);
  for (u64 i = 1; i <= fit; ++i) (void)pool.allocate(4032);  // the last one opens the second chunk
  CHECK(memory.bytes().chunks == 2);
  CHECK(pool.allocate(tail) == static_cast<void*>(first + fit * 4032));
}

TEST_CASE("A small index of many threads stays small", "[memory]") {
  Memory<Native> memory(with(Alloc::kArenaTouch));
  for (int i = 0; i < 56; ++i) CHECK(memory.join().top_up());
  CHECK(memory.bytes().reserved == 56 * (64 << 10));
  CHECK(memory.bytes().chunks == 56);
  CHECK(memory.bytes().page_bytes == 4096);
}

TEST_CASE("With thp a chunk is aligned to the size of a huge page", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena, true));
  Pool<Native>& pool = memory.join();
  const auto at = reinterpret_cast<u64>(pool.allocate(64));
  CHECK(at % kHugePageBytes == 0);
  CHECK(memory.bytes().reserved == kHugePageBytes);
  CHECK((memory.bytes().page_bytes == kHugePageBytes || memory.bytes().page_bytes == kSmallPageBytes));
  CHECK(reinterpret_cast<u64>(pool.allocate(3 << 20)) % kHugePageBytes == 0);
  CHECK(memory.bytes().reserved == 3 * kHugePageBytes);
}

TEST_CASE("Only arena+touch has its pages resident before their first use", "[memory]") {
  const u64 bytes = 1 << 20;
  for (const u64 block_bytes : {bytes, 2 * bytes}) {
    Memory<Native> touched(with(Alloc::kArenaTouch));
    CHECK(resident_pages(touched.join().allocate(block_bytes), block_bytes) == block_bytes / kSmallPageBytes);
    Memory<Native> untouched(with(Alloc::kArena));
    CHECK(resident_pages(untouched.join().allocate(block_bytes), block_bytes) <= 1);  // the pool's link in a new region
  }
}

TEST_CASE("The pool of a thread that left goes to the next thread with all its memory", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kArena, Alloc::kArenaTouch);
  Memory<Native> memory(with(alloc));
  Pool<Native>& first = memory.join();
  void* const freed = first.allocate(64);
  void* const kept = first.allocate(64);
  first.free(freed, 64);
  memory.leave(first);
  Pool<Native>& second = memory.join();
  CHECK(&second == &first);
  CHECK(second.allocate(64) == freed);
  CHECK(second.allocate(64) == static_cast<void*>(static_cast<char*>(kept) + 64));
  CHECK(memory.bytes().chunks == 1);
  CHECK(&memory.join() != &second);
}

TEST_CASE("top_up keeps its promise inside a transaction", "[memory]") {
  const u64 extra = GENERATE(u64{0}, u64{100}, u64{50000}, u64{1} << 20, (u64{1} << 20) + 1, u64{3} << 20);
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  Memory<Emulated> memory(with(alloc));
  Pool<Emulated>& pool = memory.join();
  std::mt19937_64 random(test_seed());
  for (int attempt = 0; attempt < 300; ++attempt) {
    REQUIRE(pool.top_up(extra));
    const u64 chunks = memory.bytes().chunks;
    std::vector<Block> blocks;
    auto take = [&](u64 bytes) { blocks.push_back({pool.allocate(bytes), bytes}); };
    const u32 status = Emulated::transact([&] {
      if (extra != 0) take(extra);
      for (u64 left = Pool<Emulated>::kAttemptBytes; left >= 4096;) {
        const u64 bytes = 64 * (1 + random() % 64);
        take(bytes);
        left -= bytes;
      }
    });
    for (const Block& block : blocks) {
      if (alloc == Alloc::kMalloc) pool.free(block.start, block.bytes);  // an arena runs dry instead
    }
    REQUIRE(status == kCommitted);
    REQUIRE(memory.bytes().chunks == chunks);
    if (extra > 50000 && attempt == 20) break;
  }
}

TEST_CASE("A dry pool aborts the transaction and works again after top_up", "[memory]") {
  Memory<Emulated> memory(with(Alloc::kArenaTouch));
  Pool<Emulated>& pool = memory.join();
  for (const u64 bytes : {u64{16}, u64{64}, u64{8192}, u64{2} << 20}) {
    const u32 status = Emulated::transact([&] {
      for (int i = 0; i < 10000; ++i) (void)pool.allocate(bytes);
    });
    CHECK(classify(status) == AbortCause::kArena);
    const u64 chunks = memory.bytes().chunks;
    CHECK(pool.top_up(bytes));
    CHECK(memory.bytes().chunks == chunks + 1);
    CHECK(Emulated::transact([&] { (void)pool.allocate(bytes); }) == kCommitted);
  }
}

TEST_CASE("Each allocation can be made to fail, once or for ever", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  FailurePlan plan;
  MemoryConfig config = with(alloc);
  config.fail = &plan;
  // 10 blocks of 30000 bytes also need several chunks, so both kinds of failure occur.
  for (const Then then : {Then::kOnce, Then::kForEver}) {
    bool met = true;
    for (u64 n = 1; met; ++n) {
      Memory<Native> memory(config);
      Pool<Native>& pool = memory.join();
      plan.arm(n, then);
      std::vector<void*> blocks;
      for (int i = 0; i < 10; ++i) {
        if (void* const block = pool.allocate(30000)) blocks.push_back(block);
      }
      met = plan.seen() >= n;
      if (!met) {
        CHECK(blocks.size() == 10);
      } else if (then == Then::kOnce) {
        CHECK(blocks.size() == 9);
      } else {
        CHECK(blocks.size() < 10);
      }
      for (void* const block : blocks) pool.free(block, 30000);
      CHECK(memory.bytes().live == 0);
      REQUIRE(n < 100);
    }
  }
}

TEST_CASE("top_up says when memory is out, and the rest can still be used", "[memory]") {
  FailurePlan plan;
  MemoryConfig config = with(Alloc::kArena);
  config.fail = &plan;
  Memory<Native> memory(config);
  Pool<Native>& pool = memory.join();
  REQUIRE(pool.top_up());
  const u64 blocks = memory.bytes().reserved / 4096;
  plan.arm(blocks - 2 + 1, Then::kForEver);
  for (u64 i = 0; i < blocks - 2; ++i) CHECK(pool.allocate(4096) != nullptr);
  CHECK_FALSE(pool.top_up());
  plan.disarm();
  CHECK(pool.allocate(4096) != nullptr);
  CHECK(pool.top_up());
}

TEST_CASE("A limit makes allocations fail, and no block is lost", "[memory]") {
  const Alloc alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  MemoryConfig config = with(alloc);
  config.limit = 1 << 20;
  Memory<Native> memory(config);
  Pool<Native>& pool = memory.join();
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    while (blocks.size() < 5000) {
      void* const block = pool.allocate(1000);
      if (block == nullptr) break;
      blocks.push_back(block);
    }
    CHECK(blocks.size() >= 900);
    CHECK(blocks.size() <= 1048);
    CHECK(memory.bytes().reserved <= config.limit.bytes());
    CHECK(pool.allocate(2 << 20) == nullptr);
    CHECK(pool.top_up() == (alloc == Alloc::kMalloc));  // with malloc it promises nothing
    for (void* const block : blocks) pool.free(block, 1000);
    CHECK(memory.bytes().live == 0);
  }
}

TEST_CASE("Freeing a block with a mapping of its own unmaps it", "[memory]") {
  Memory<Native> memory(with(Alloc::kArenaTouch));
  Pool<Native>& pool = memory.join();
  const u64 before = memory.bytes().reserved;
  void* const block = pool.allocate((3 << 20) + 1);
  CHECK(memory.bytes().reserved == before + (3 << 20) + 4096);
  pool.free(block, (3 << 20) + 1);
  CHECK(memory.bytes().reserved == before);
  // A mapping that top_up promised and no attempt took is replaced, not leaked.
  CHECK(pool.top_up(3 << 20));
  const u64 promised = memory.bytes().chunks;
  CHECK(pool.top_up(4 << 20));
  CHECK(memory.bytes().chunks == promised);
}

/// KV-Direct's slabs.
constexpr Sharing kSlabs{.classes = Sharing::Classes::kPowers,
                         .least = 32,
                         .kept_bytes = u64{2048} * 512,
                         .kept_blocks = 2048,
                         .moved_blocks = 512};

TEST_CASE("Classes by powers of two have the sizes that their Sharing says, and no byte stays live") {
  Memory<Native> memory(with(Alloc::kArena), kSlabs);
  Pool<Native>& pool = memory.join();
  std::vector<Held> held;
  for (int round = 0; round < 50; ++round) {
    for (const auto& [bytes, size] : std::vector<std::pair<u64, u64>>{{1, 32},
                                                                      {16, 32},
                                                                      {32, 32},
                                                                      {33, 64},
                                                                      {48, 64},
                                                                      {64, 64},
                                                                      {65, 128},
                                                                      {129, 256},
                                                                      {192, 256},
                                                                      {257, 512},
                                                                      {512, 512},
                                                                      {513, 1024},
                                                                      {4097, 8192},
                                                                      {9000, 16384},
                                                                      {(512 << 10) + 1, 1 << 20}}) {
      const u64 before = memory.bytes().live;
      auto* const at = static_cast<unsigned char*>(pool.allocate(bytes));
      REQUIRE(at != nullptr);
      CHECK(memory.bytes().live - before == size);
      CHECK(reinterpret_cast<u64>(at) % std::min(size, u64{kLineBytes}) == 0);
      held.push_back({at, bytes, static_cast<unsigned char>(held.size())});
      std::memset(at, held.back().mark, bytes);
    }
  }
  bool intact = true;
  for (const Held& one : held) {
    intact = intact && holds_its_mark(one);
    pool.free(one.at, one.bytes);
  }
  CHECK(intact);
  CHECK(memory.bytes().live == 0);
  void* const large = pool.allocate((1 << 20) + 1);  // its own mapping, which is not rounded to a power
  CHECK(memory.bytes().live == (1 << 20) + kSmallPageBytes);
  pool.free(large, (1 << 20) + 1);
}

/// Allocates blocks while they are of `old`, and returns how many were. Up to 15 others may lie between them: pieces
/// that a split has left.
u64 taken_of(const std::set<void*>& old, Pool<Native>& pool, u64 bytes) {
  u64 taken = 0;
  for (u32 others = 0; others != 16;) {
    if (old.contains(pool.allocate(bytes))) {
      ++taken;
      others = 0;
    } else {
      ++others;
    }
  }
  return taken;
}

TEST_CASE("A pool keeps as many blocks of a class as its Sharing says, and moves as many at a time") {
  const u64 bytes = GENERATE(20, 32, 60, 100, 512);
  CAPTURE(bytes);
  Memory<Native> memory(with(Alloc::kArena), kSlabs);
  Pool<Native>&first = memory.join(), &second = memory.join(), &third = memory.join(), &fourth = memory.join();
  std::set<void*> blocks;
  for (u64 i = 0; i < 4000; ++i) blocks.insert(first.allocate(bytes));
  const auto reserved = [&] { return memory.bytes().reserved; };
  for (void* const block : blocks) first.free(block, bytes);
  // 512 have gone after the 2049th, the 2561st, the 3073rd and the 3585th.
  const u64 before = reserved();
  CHECK(blocks.contains(second.allocate(bytes)));
  CHECK(blocks.contains(third.allocate(bytes)));
  CHECK(reserved() == before);
  CHECK(taken_of(blocks, fourth, bytes) == 2 * 512);
  CHECK(taken_of(blocks, second, bytes) == 511);
  CHECK(taken_of(blocks, third, bytes) == 511);
  CHECK(taken_of(blocks, first, bytes) == 4000 - 4 * 512);
}

TEST_CASE("A pool keeps a limited number of bytes of a class, or one block") {
  const Sharing sharing;
  Memory<Native> memory(with(Alloc::kArena), sharing);
  Pool<Native>&first = memory.join(), &second = memory.join();
  for (const u64 bytes : {128, 1000, 30'000, 60'000, 1 << 20}) {
    CAPTURE(bytes);
    std::set<void*> blocks;
    for (u64 i = 0; i < 2000 && i * bytes < 16 << 20; ++i) blocks.insert(first.allocate(bytes));
    for (void* const block : blocks) first.free(block, bytes);
    const u64 passed_on = taken_of(blocks, second, bytes);
    const u64 kept = blocks.size() - passed_on;
    CHECK(kept <= sharing.kept(bytes));
    CHECK(kept >= sharing.kept(bytes) / 2);
    CHECK(taken_of(blocks, first, bytes) == kept);
  }
}

/// Frees `blocks` through `pool`, between operations.
void free_all(Pool<Native>& pool, const std::set<void*>& blocks, u64 bytes) {
  for (void* const block : blocks) {
    pool.balance();
    pool.free(block, bytes);
  }
  pool.balance();
}

TEST_CASE("A pool of attempts' memory passes on what is freed beyond a limit", "[memory]") {
  const u64 bytes = GENERATE(16, 32, 48, 64, 128, 1000, 30'000);
  CAPTURE(bytes);
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>&first = memory.join(), &second = memory.join();
  std::set<void*> blocks;
  while (blocks.size() * bytes < 4 << 20) blocks.insert(first.allocate(bytes));
  first.balance();
  free_all(first, blocks, bytes);
  const u64 reserved = memory.bytes().reserved;
  const u64 passed_on = taken_of(blocks, second, bytes);
  CHECK(memory.bytes().reserved - reserved <= kHugePageBytes);  // the blocks after them
  // The first keeps one move, and what was freed since its last balance.
  CHECK((blocks.size() - passed_on) * bytes <= Sharing().kept_bytes * 2 + bytes);
  CHECK(taken_of(blocks, first, bytes) == blocks.size() - passed_on);
}

TEST_CASE("A pool that leaves passes on all free blocks but one move", "[memory]") {
  Memory<Native> memory(with(Alloc::kArena));
  Pool<Native>&first = memory.join(), &second = memory.join();
  std::set<void*> blocks;
  for (u64 i = 0; i < 5000; ++i) blocks.insert(first.allocate(64));
  for (void* const block : blocks) first.free(block, 64);
  memory.leave(first);
  CHECK(taken_of(blocks, second, 64) == 5000 - Sharing().moved(64));
}

TEST_CASE("When memory is out a larger free block is carved, of the pool or of another one", "[memory]") {
  const bool of_another = GENERATE(false, true);
  const u64 large = GENERATE(64, 1024, 40960), small = GENERATE(16, 48, 64);
  CAPTURE(of_another, large, small);
  MemoryConfig config = with(Alloc::kArena);
  config.limit = 1 << 20;
  Memory<Native> memory(config);
  Pool<Native>&pool = memory.join(), &other = memory.join();
  std::set<void*> blocks;
  while (void* const block = pool.allocate(large)) blocks.insert(block);
  while (void* const rest = pool.allocate(small)) REQUIRE(rest != nullptr);  // the tails, which are no block of `large`
  REQUIRE(blocks.size() * large >= 850 << 10);
  free_all(of_another ? other : pool, blocks, large);
  u64 taken = 0;
  while (pool.allocate(small) != nullptr) ++taken;
  const u64 per_line = kLineBytes / small;
  const u64 all = blocks.size() * ((large + kLineBytes - 1) / kLineBytes) * per_line;
  CHECK(taken <= all);
  // The other pool keeps one move, and what was freed since its last balance.
  CHECK(taken >= all - (of_another ? (128 << 10) / kLineBytes * per_line : 0));
}

TEST_CASE("A transaction takes nothing from other pools, and the next balance does", "[memory]") {
  Memory<Emulated> memory(with(Alloc::kArena));
  Pool<Emulated>&first = memory.join(), &second = memory.join();
  std::set<void*> blocks;
  for (u64 i = 0; i < 5000; ++i) blocks.insert(first.allocate(64));
  first.balance();
  for (void* const block : blocks) first.free(block, 64);
  first.balance();
  REQUIRE(second.top_up());
  second.balance();
  void *inside = nullptr, *after = nullptr;
  REQUIRE(Emulated::transact([&] { inside = second.allocate(64); }) == kCommitted);
  CHECK_FALSE(blocks.contains(inside));
  for (u32 i = 0; i < 3; ++i) (void)second.allocate(64);  // the split has left three
  second.balance();
  REQUIRE(Emulated::transact([&] { after = second.allocate(64); }) == kCommitted);
  CHECK(blocks.contains(after));
}

/// Two threads replace blocks of random sizes. The first makes most of them, and the second frees most.
void check_flat(const std::optional<Sharing>& sharing, u64 least) {
  constexpr u64 kMost = 512, kParts = 10, kSteps = 30'000;
  Memory<Native> memory(with(Alloc::kArena), sharing);
  struct Made {
    u64 bytes;
  };
  std::vector<std::atomic<Made*>> places(500);
  u64 reserved = 0;
  std::atomic<u64> wrong{0};
  for (u64 part = 0; part < kParts; ++part) {
    std::array<std::thread, 2> threads;
    for (u64 t = 0; t < threads.size(); ++t) {
      threads[t] = std::thread([&, t, seed = test_seed() + 2 * part + t] {
        PoolLease<Native> pool(memory);
        Rng random(seed);
        for (u64 i = 0; i < kSteps; ++i) {
          Made* made = nullptr;
          pool->balance();
          if (random.below(4) < (t == 0 ? 3 : 1)) {
            const u64 bytes = least + random.below(kMost - least + 1);
            made = new (pool->allocate(bytes)) Made{bytes};
          }
          // Acquires the size that the other thread has stored before its own exchange.
          Made* const old = places[random.below(places.size())].exchange(made, kAcqRel);
          if (old == nullptr) continue;
          if (old->bytes < least || old->bytes > kMost) ++wrong;
          pool->free(old, old->bytes);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (part == 0) reserved = memory.bytes().reserved;
    CAPTURE(part);
    // Each pool may keep 128 KiB of each of eleven classes. What moves in a part takes 3 MB.
    CHECK(memory.bytes().reserved <= reserved + 2 * kHugePageBytes);
  }
  CHECK(wrong == 0);
  PoolLease<Native> pool(memory);
  for (const auto& place : places) {
    if (Made* const old = place.load()) pool->free(old, old->bytes);
  }
  CHECK(memory.bytes().live == 0);
}

TEST_CASE("Two threads that free what the other makes hold no more memory after long than after short") {
  check_flat({}, 8);
  check_flat(Sharing(), 8);
  check_flat(kSlabs, 8);
  check_flat(Sharing{.least = 16, .kept_blocks = 40}, 8);
  check_flat(Sharing{.classes = Sharing::Classes::kPowers, .least = 16, .kept_blocks = 1, .moved_blocks = 1}, 8);
}

}  // namespace
}  // namespace latchlab
