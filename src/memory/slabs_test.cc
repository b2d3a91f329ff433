#include "src/memory/slabs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/slab_merger.h"
#include "src/testing/catch.h"
#include "src/testing/thorough.h"

namespace latchlab {
namespace {

using slab::bytes_of;
using slab::class_for;
using testing::thorough;

constexpr u64 kMiB = u64{1} << 20;
const MemoryConfig kSlabMemory{.alloc = MemoryConfig::Alloc::kArena};

/// A machine without pages.
struct NoPages : Native {
  static PageSource* pages() { return nullptr; }
};
static_assert(Machine<NoPages>);

/// A machine that counts how often a mutex is taken.
struct CountedLocks : Native {
  static inline u64 locks = 0;
  struct Mutex {
    void lock() {
      ++locks;
      mutex.lock();
    }
    void unlock() { mutex.unlock(); }
    std::mutex mutex;
  };
};
static_assert(Machine<CountedLocks>);

/// A machine that calls a function after the first unlock, and tells when a thread must wait for a mutex.
struct Interrupted : Native {
  static inline std::function<void()> after_unlock;
  static inline std::atomic<bool> waits{false};
  struct Mutex {
    void lock() {
      if (mutex.try_lock()) return;
      waits.store(true, kRelaxed);
      mutex.lock();
    }
    void unlock() {
      mutex.unlock();
      if (after_unlock) std::exchange(after_unlock, nullptr)();
    }
    std::mutex mutex;
  };
};
static_assert(Machine<Interrupted>);

/// The units of a region that blocks have, as a caller sees them.
template <class M>
class ShadowMap {
 public:
  ShadowMap(const Slabs<M>& slabs, u64 most) : slabs_(slabs), taken_(most / slab::kUnitBytes) {}

  /// Marks the units of a block. Returns false if it is not in the region, not aligned, or overlaps another one.
  bool take(const void* block, u64 bytes) { return change(block, bytes, 0, 1); }
  bool free(const void* block, u64 bytes) { return change(block, bytes, 1, 0); }

 private:
  bool change(const void* block, u64 bytes, u8 before, u8 after) {
    const u64 size = bytes_of(class_for(bytes)), at = static_cast<u64>(static_cast<const char*>(block) - start());
    if (at % size != 0 || at + size > taken_.size() * slab::kUnitBytes) return false;
    bool right = true;
    for (u64 unit = at / slab::kUnitBytes; unit < (at + size) / slab::kUnitBytes; ++unit)
      right = taken_[unit].exchange(after, kRelaxed) == before && right;
    return right;
  }
  const char* start() const { return static_cast<const char*>(slabs_.block_of(slab::entry_of(0, 0))); }

  const Slabs<M>& slabs_;
  std::vector<std::atomic<u8>> taken_;
};

struct Owned {
  void* at = nullptr;
  u64 bytes = 0;
};

u64 random_size(Rng& random) { return 1 + random.below(bytes_of(random.below(slab::kClasses))); }

/// Takes blocks of so many bytes until memory is out.
template <class M>
std::vector<void*> take_all(SlabCache<M>& cache, u64 bytes) {
  std::vector<void*> blocks;
  while (void* const block = cache.allocate(bytes)) blocks.push_back(block);
  return blocks;
}

template <class M>
void free_in_random_order(SlabCache<M>& cache, std::vector<void*> blocks, u64 bytes) {
  std::shuffle(blocks.begin(), blocks.end(), Rng(test_seed()));
  for (void* const block : blocks) cache.free(block, bytes);
}

TEST_CASE("Random blocks of slabs never overlap, few accesses reach the shared part, and no byte leaks") {
  const u64 allocations = thorough() ? 100'000'000 : 300'000;
  const u64 most_live = thorough() ? 1'000'000 : 20'000, most = thorough() ? 1024 * kMiB : 32 * kMiB;
  Slabs<Native> slabs(kSlabMemory, most);
  ShadowMap shadow(slabs, most);
  Rng random(test_seed());
  std::vector<Owned> live(most_live);
  u64 made = 0, wrong = 0;
  {
    SlabCache<Native> cache(slabs);
    for (u64 limit = 512; made < allocations;) {
      if (made % (allocations / 20) == 0) {
        (void)slabs.merge();
        limit = 32 << random.below(slab::kClasses);  // sizes up to here, until the next merge
      }
      Owned& one = live[random.below(live.size())];
      if (one.at != nullptr) {
        u64 mark = 0;
        std::memcpy(&mark, one.at, std::min<u64>(one.bytes, sizeof(mark)));
        wrong += mark != one.bytes || !shadow.free(one.at, one.bytes);  // a size that has few bytes fits into one
        cache.free(one.at, one.bytes);
      }
      one.bytes = 1 + random.below(limit);
      one.at = cache.allocate(one.bytes);
      if (one.at == nullptr || !shadow.take(one.at, one.bytes))
        FAIL("block " << made << " is null or overlaps another");
      std::memcpy(one.at, &one.bytes, std::min<u64>(one.bytes, sizeof(one.bytes)));
      ++made;
    }
    for (const Owned& one : live) {
      if (one.at != nullptr) cache.free(one.at, one.bytes);
    }
    const SlabCounts& counts = cache.counts();
    CHECK(counts.operations >= 2 * allocations);
    CHECK(static_cast<double>(counts.accesses) < .07 * static_cast<double>(counts.operations));
    if (thorough()) CHECK(static_cast<double>(counts.lines) < .07 * static_cast<double>(counts.operations));
  }
  CHECK(wrong == 0);
  CHECK(slabs.bytes().live == 0);
}

TEST_CASE("Threads that free each other's blocks and merge never get the same bytes, and no byte leaks") {
  constexpr u64 kMost = 16 * kMiB;
  constexpr u32 kThreads = 4;
  const u64 steps = thorough() ? 5'000'000 : 60'000;
  Slabs<Native> slabs(kSlabMemory, kMost);
  ShadowMap shadow(slabs, kMost);
  std::vector<std::atomic<Owned*>> places(3000);
  std::atomic<u64> wrong{0};
  std::atomic<bool> done{false};
  {
    std::thread merging([&] {
      while (!done.load(kRelaxed)) (void)slabs.merge();
    });
    std::array<std::thread, kThreads> threads;
    for (u32 t = 0; t < kThreads; ++t) {
      threads[t] = std::thread([&, seed = test_seed() + t] {
        Rng random(seed);
        SlabCache<Native> cache(slabs);
        for (u64 step = 0; step < steps; ++step) {
          Owned* made = nullptr;
          const u64 bytes = std::max<u64>(random_size(random), sizeof(Owned));
          if (random.below(3) != 0) {
            void* const block = cache.allocate(bytes);
            if (block == nullptr || !shadow.take(block, bytes)) ++wrong;
            if (block != nullptr) made = new (block) Owned{.at = block, .bytes = bytes};
          }
          // Acquires what another thread has stored in the block before its own exchange.
          Owned* const old = places[random.below(places.size())].exchange(made, kAcqRel);
          if (old == nullptr) continue;
          const Owned owned = *old;
          if (owned.at != old || !shadow.free(old, owned.bytes)) ++wrong;
          cache.free(old, owned.bytes);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    done.store(true, kRelaxed);
    merging.join();
  }
  CHECK(wrong == 0);
  {
    SlabCache<Native> cache(slabs);
    for (const auto& place : places) {
      if (Owned* const old = place.load(kRelaxed)) cache.free(old, old->bytes);
    }
  }
  CHECK(slabs.bytes().live == 0);
}

TEST_CASE("A block of the largest class is split into all others, and all its bytes are used") {
  Slabs<Native> slabs(kSlabMemory, kMiB);
  SlabCache<Native> cache(slabs);
  const u64 bytes = GENERATE(32, 64, 128, 256, 512);
  CAPTURE(bytes);
  const std::vector<void*> blocks = take_all(cache, bytes);
  CHECK(blocks.size() == kMiB / bytes);
  CHECK(std::set(blocks.begin(), blocks.end()).size() == blocks.size());
  CHECK(cache.counts().splits == kMiB / bytes - kMiB / 512);
  CHECK(slabs.used_bytes() == kMiB);
}

TEST_CASE("A merge brings back the largest blocks after all were split") {
  Slabs<Native> slabs(kSlabMemory, kMiB);
  SlabCache<Native> cache(slabs);
  std::vector<void*> blocks = take_all(cache, 32);
  REQUIRE(blocks.size() == kMiB / 32);
  std::sort(blocks.begin(), blocks.end());
  std::vector<void*> upper, lower;
  for (u64 i = 0; i < blocks.size(); ++i) (i % 2 == 0 ? lower : upper).push_back(blocks[i]);
  free_in_random_order(cache, upper, 32);
  cache.give_all();
  const auto alone = slabs.merge();
  CHECK(alone.entries == upper.size());
  CHECK(alone.joins == 0);
  CHECK(cache.allocate(33) == nullptr);
  free_in_random_order(cache, lower, 32);
  cache.give_all();
  const auto merged = slabs.merge();
  CHECK(merged.entries == blocks.size());
  CHECK(merged.joins == blocks.size() - kMiB / 512);
  CHECK(slabs.merge().entries == 0);  // nothing was given since
  CHECK(static_cast<char*>(cache.allocate(512)) - static_cast<char*>(blocks.front()) <= 512);  // low ones come first
  CHECK(take_all(cache, 512).size() == kMiB / 512 - 1);
}

TEST_CASE("A cache for which there is no memory merges what it has, too") {
  Slabs<Native> slabs(kSlabMemory, kMiB);
  SlabCache<Native> cache(slabs);
  for (const u64 bytes : {32, 512, 64, 256, 128, 512}) {
    CAPTURE(bytes);
    const std::vector<void*> blocks = take_all(cache, bytes);
    CHECK(blocks.size() == kMiB / bytes);
    free_in_random_order(cache, blocks, bytes);
  }
  CHECK(cache.counts().merges >= 3);
  CHECK(slabs.used_bytes() == kMiB);
}

TEST_CASE("Memory is out at the budget and by the failure plan, and what is free can be taken then") {
  FailurePlan plan;
  MemoryConfig config = kSlabMemory;
  const bool by_plan = GENERATE(false, true);
  if (!by_plan) config.limit = 2 * kMiB;
  config.fail = &plan;
  std::optional<Slabs<Native>> slabs(std::in_place, config);
  if (by_plan) plan.arm(1, FailurePlan::Then::kForEver);
  {
    SlabCache<Native> cache(*slabs);
    const std::vector<void*> blocks = take_all(cache, 100);
    CHECK(blocks.size() >= 1000);
    CHECK(blocks.size() * 128 == slabs->used_bytes());
    CHECK(cache.allocate(1) == nullptr);
    cache.free(blocks[0], 100);
    CHECK(cache.allocate(32) == blocks[0]);
    cache.free(blocks[0], 32);
    if (!by_plan) CHECK(slabs->bytes().reserved <= 2 * kMiB);
    for (u64 i = 1; i < blocks.size(); ++i) cache.free(blocks[i], 100);
  }
  CHECK(slabs->bytes().live == 0);
  slabs.reset();
  CHECK(config.limit.charged() == 0);
  plan.arm(1, FailurePlan::Then::kForEver);
  CHECK_THROWS_AS(Slabs<Native>(config), std::bad_alloc);
  CHECK(config.limit.charged() == 0);
}

TEST_CASE("A cache keeps 2,048 entries of a class and moves 512, each an access of the shared part") {
  Slabs<Native> slabs(kSlabMemory);
  SlabCache<Native> cache(slabs), other(slabs);
  std::vector<void*> blocks;
  for (u64 i = 0; i < 4096; ++i) blocks.push_back(cache.allocate(512));
  CHECK(cache.counts().accesses == 2 * 8);  // a look at the empty stack, and a move
  for (u64 i = 0; i < 2048; ++i) cache.free(blocks[i], 512);
  CHECK(cache.counts().accesses == 16);
  cache.free(blocks[2048], 512);
  CHECK(cache.counts().accesses == 17);
  CHECK(cache.counts().lines == 8 * 2 + 33);
  CHECK(cache.counts().operations == 4096 + 2049);
  const std::set<void*> old(blocks.begin(), blocks.end());
  for (u64 i = 0; i < 512; ++i) CHECK(old.contains(other.allocate(512)));
  CHECK(other.counts().accesses == 1);
  CHECK_FALSE(old.contains(other.allocate(512)));
}

TEST_CASE("A merge holds no mutex for longer than a move") {
  Slabs<CountedLocks> slabs(kSlabMemory, 4 * kMiB);
  SlabCache<CountedLocks> cache(slabs);
  free_in_random_order(cache, take_all(cache, 32), 32);
  cache.give_all();
  CountedLocks::locks = 0;
  const u64 entries = slabs.merge().entries;
  CHECK(entries == 4 * kMiB / 32);
  CHECK(CountedLocks::locks >= entries / Slabs<CountedLocks>::kMoved + entries / 16 / Slabs<CountedLocks>::kMoved);
}

TEST_CASE("A cache without memory waits for a merge that has the free entries") {
  Slabs<Interrupted> slabs(kSlabMemory, kMiB);
  SlabCache<Interrupted> cache(slabs);
  free_in_random_order(cache, take_all(cache, 32), 32);
  cache.give_all();
  std::thread rival;
  std::atomic<bool> is_done{false};
  bool has_block = false;
  Interrupted::waits = false;
  // The merge has taken entries from one stack then, and holds no stack's mutex.
  Interrupted::after_unlock = [&] {
    rival = std::thread([&] {
      SlabCache<Interrupted> other(slabs);
      has_block = other.allocate(512) != nullptr;
      is_done = true;
    });
    while (!is_done && !Interrupted::waits) std::this_thread::yield();
  };
  CHECK(slabs.merge().entries == kMiB / 32);
  rival.join();
  CHECK(has_block);
}

TEST_CASE("A machine without pages has slabs in one block") {
  Slabs<NoPages> slabs(kSlabMemory, kMiB);
  SlabCache<NoPages> cache(slabs);
  for (const u64 bytes : {32, 512}) {
    const std::vector<void*> blocks = take_all(cache, bytes);
    CHECK(blocks.size() == kMiB / bytes);
    free_in_random_order(cache, blocks, bytes);
  }
}

TEST_CASE("A merger merges when the region grows and much was given back") {
  Slabs<Native> slabs(kSlabMemory);
  const SlabMerger<Native> merger(slabs);
  SlabCache<Native> cache(slabs);
  std::vector<void*> blocks;
  for (u64 i = 0; i < 4 * kMiB / 32; ++i) blocks.push_back(cache.allocate(32));
  free_in_random_order(cache, blocks, 32);
  cache.give_all();
  const void* const last = *std::max_element(blocks.begin(), blocks.end());
  // Large blocks are beyond the small ones until they have been merged. The clock only ends a test that fails.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool is_merged = false;
  while (!is_merged && std::chrono::steady_clock::now() < end) {
    is_merged = cache.allocate(512) < last;
    std::this_thread::yield();
  }
  CHECK(is_merged);
  CHECK(cache.counts().merges == 0);
}

}  // namespace
}  // namespace latchlab
