#include "services/rocksdb/block_store.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/base/rng.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"

namespace latchlab::tier {
namespace {

MemoryConfig far_of(u64 limit, FailurePlan* fail = nullptr) {
  return {.alloc = MemoryConfig::Alloc::kMalloc,
          .limit = MemoryBudget(limit),
          .malloc_alignment = alignof(std::max_align_t),
          .fail = fail};
}

std::string key_of(u64 number) { return "block " + std::to_string(number); }
std::byte content_of(std::string_view key) { return static_cast<std::byte>(hash_bytes(key) & 0xff); }

/// Puts a block whose bytes all follow from its key.
template <class Store>
Put put(Store& store, const std::string& key, u64 size) {
  return store.put(key, size, [&](std::span<std::byte> to) { std::ranges::fill(to, content_of(key)); });
}
bool is_right(const std::string& key, u64 size, ByteSpan block) {
  return block.size() == size &&
         std::ranges::all_of(block, [wanted = content_of(key)](std::byte one) { return one == wanted; });
}
/// Looks a block up, and returns whether it is there. Its content must be right.
template <class Store>
bool found(Store& store, const std::string& key, u64 size) {
  bool right = true;
  const bool hit = store.find(key, [&](ByteSpan block) { right = is_right(key, size, block); });
  CHECK(right);
  return hit;
}
template <class Store>
bool taken(Store& store, const std::string& key, u64 size) {
  bool right = true;
  const bool hit = store.take(key, [&](ByteSpan block) { right = is_right(key, size, block); });
  CHECK(right);
  return hit;
}

/// Checks what holds of the counts of a store in which all blocks have one size, while no operation runs.
void check_counts(const BlockCounters& counters, u64 size) {
  CHECK(counters.puts == counters.inserts + counters.present + counters.refused);
  CHECK(counters.blocks_written >= counters.inserts);
  CHECK(counters.bytes_written == counters.blocks_written * size);
  CHECK(counters.bytes_inserted == counters.inserts * size);
  CHECK(counters.blocks_read == counters.hits);
  CHECK(counters.bytes_read == counters.blocks_read * size);
  CHECK(counters.bytes() == counters.blocks() * size);
  CHECK(counters.taken <= counters.hits);
  CHECK(counters.hits <= counters.lookups);
}

TEST_CASE("A block is found until it is taken or erased, and each copy is counted once") {
  BlockStore store(far_of(0));
  CHECK_FALSE(found(store, "a", 100));
  CHECK(put(store, "a", 100) == Put::kInserted);
  CHECK(put(store, "b", 100) == Put::kInserted);
  CHECK(put(store, "c", 100) == Put::kInserted);
  CHECK(put(store, "a", 100) == Put::kPresent);
  CHECK(found(store, "a", 100));
  CHECK(found(store, "a", 100));
  CHECK(taken(store, "a", 100));
  CHECK_FALSE(taken(store, "a", 100));
  CHECK_FALSE(found(store, "a", 100));
  CHECK(store.erase("b"));
  CHECK_FALSE(store.erase("b"));
  const BlockCounters counters = store.counters();
  check_counts(counters, 100);
  CHECK(counters.lookups == 6);
  CHECK(counters.hits == 3);
  CHECK(counters.taken == 1);
  CHECK(counters.puts == 4);
  CHECK(counters.inserts == 3);
  CHECK(counters.present == 1);
  CHECK(counters.erased == 1);
  CHECK(counters.blocks_written == 3);
  CHECK(counters.blocks() == 1);
  CHECK(counters.bytes() == 100);
}

TEST_CASE("A block and its key may be empty") {
  BlockStore store(far_of(0));
  CHECK(put(store, "", 0) == Put::kInserted);
  CHECK(put(store, "a", 0) == Put::kInserted);
  CHECK(found(store, "", 0));
  CHECK(taken(store, "a", 0));
  CHECK(store.counters().blocks() == 1);
}

TEST_CASE("A store never holds more than its limit, and uses nearly all of it") {
  constexpr u64 kLimit = 4 << 20;
  constexpr u64 kSize = 4000;
  BlockStore store(far_of(kLimit));
  u64 most = 0;
  for (u64 i = 0; i < 5000; ++i) {
    CHECK(put(store, key_of(i), kSize) == Put::kInserted);
    CHECK(store.was_full() == (store.counters().evictions != 0));
    most = std::max(most, store.charged());
  }
  CHECK(most <= kLimit);
  const BlockCounters counters = store.counters();
  check_counts(counters, kSize);
  CHECK(counters.blocks() > kLimit / kSize * 95 / 100);
  CHECK(counters.evictions == 5000 - counters.blocks());
  CHECK(counters.blocks_written == 5000);
  u64 there = 0;
  for (u64 i = 0; i < 5000; ++i) there += found(store, key_of(i), kSize);
  CHECK(there == counters.blocks());
  CHECK(found(store, key_of(4999), kSize));
}

TEST_CASE("Blocks of all sizes come and go under the limit") {
  constexpr u64 kLimit = 4 << 20;
  BlockStore store(far_of(kLimit));
  Rng rng(test_seed());
  for (u64 i = 0; i < 2000; ++i) {
    const u64 size = u64{1} << rng.below(20);
    CHECK(put(store, key_of(i), size) == Put::kInserted);
    CHECK(found(store, key_of(i), size));
    CHECK(store.charged() <= kLimit);
  }
  CHECK(store.counters().refused == 0);
}

TEST_CASE("The hand keeps a block that was found lately longer than those that nobody looks up") {
  constexpr u64 kSize = 4000;
  BlockStore store(far_of(4 << 20));
  CHECK(put(store, "popular", kSize) == Put::kInserted);
  CHECK(put(store, "forgotten", kSize) == Put::kInserted);
  u64 i = 0;
  for (; i < 5000; ++i) {
    (void)put(store, key_of(i), kSize);
    if (i % 100 == 0) CHECK(found(store, "popular", kSize));
  }
  CHECK_FALSE(found(store, "forgotten", kSize));
  CHECK(found(store, "popular", kSize));
}

TEST_CASE("A block that cannot fit is refused, and pushes nothing out") {
  BlockStore store(far_of(1 << 20));
  CHECK(put(store, "small", 1000) == Put::kInserted);
  CHECK(put(store, "as large as the limit", 1 << 20) == Put::kRefused);
  CHECK(put(store, "longer than a value", u64{1} << 30) == Put::kRefused);
  CHECK(found(store, "small", 1000));
  const BlockCounters counters = store.counters();
  CHECK(counters.refused == 2);
  CHECK(counters.evictions == 0);
  CHECK(counters.blocks_written == 1);
  BlockStore unlimited(far_of(0));
  CHECK(put(unlimited, "longer than a value", BlockStore::kMostBytes) == Put::kRefused);
  CHECK(put(unlimited, "", BlockStore::kMostBytes) == Put::kInserted);
}

TEST_CASE("A large block that a memory of small pieces cannot hold does not empty the store") {
  MemoryConfig far = far_of(8 << 20);
  far.alloc = MemoryConfig::Alloc::kArena;  // it joins no free blocks
  BlockStore store(far);
  for (u64 i = 0; i < 20'000; ++i) CHECK(put(store, key_of(i), 1000) == Put::kInserted);
  const u64 before = store.counters().blocks();
  CHECK(before > 6000);
  for (u64 i = 0; i < 3; ++i) (void)put(store, key_of(100'000 + i), 300'000);
  const BlockCounters counters = store.counters();
  CHECK(counters.blocks() > before * 2 / 3);
  CHECK(put(store, key_of(20'000), 1000) == Put::kInserted);
}

TEST_CASE("A block whose filler throws is refused, and the old state stays") {
  BlockStore store(far_of(0));
  CHECK_THROWS_AS(store.put("a", 10, [](std::span<std::byte>) { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK_FALSE(found(store, "a", 10));
  u32 runs = 0;
  const auto lacks_memory = [&](std::span<std::byte>) {
    ++runs;
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(store.put("a", 10, lacks_memory), std::bad_alloc);
  CHECK(runs == 1);
  const BlockCounters counters = store.counters();
  CHECK(counters.refused == 2);
  CHECK(counters.blocks_written == 0);
  CHECK(put(store, "a", 10) == Put::kInserted);
  CHECK_THROWS_AS(store.find("a", [](ByteSpan) { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_AS(store.take("a", [](ByteSpan) { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK_FALSE(found(store, "a", 10));
  CHECK(put(store, "a", 10) == Put::kInserted);
  CHECK_THROWS_AS(store.take("a", [](ByteSpan) { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_FALSE(found(store, "a", 10));
  check_counts(store.counters(), 10);
  CHECK(store.counters().taken == 2);
}

TEST_CASE("A visit may call the store again") {
  BlockStore store(far_of(0));
  (void)put(store, "a", 10);
  (void)put(store, "b", 20);
  bool inner = false;
  CHECK(store.find("a", [&](ByteSpan) { inner = store.take("b", [&](ByteSpan) { (void)store.erase("a"); }); }));
  CHECK(inner);
  CHECK(store.counters().blocks() == 0);
}

TEST_CASE("Each copy waits for the time of a modelled medium, and shows the right bytes") {
  // 4000 bytes take 4 us at a GB/s when they are read, and 8 us when they are written. Waits may be longer.
  BlockStore::Charge charge({.latency_ns = 10'000, .read_gbps = 1, .write_gbps = .5, .granule = 1});
  BlockStore store(far_of(0), &charge);
  const auto lasts = [](const auto& run) {
    const u64 began = Native::now();
    run();
    return Native::now() - began;
  };
  for (u32 i = 0; i < 100; ++i) {
    CHECK(lasts([&] { CHECK(put(store, key_of(i), 4000) == Put::kInserted); }) >= 18'000);
    CHECK(lasts([&] { CHECK(found(store, key_of(i), 4000)); }) >= 14'000);
    CHECK(lasts([&] { CHECK(taken(store, key_of(i), 4000)); }) >= 14'000);
  }
  check_counts(store.counters(), 4000);
}

/// A hash under which many keys collide.
struct PoorHash {
  static u64 of(std::string_view key) { return key.size() % 2; }
};

TEST_CASE("Keys with one hash push each other out, and no block is shown under another key") {
  BlockStoreOf<Synchronized<Cuckoo, Olc<Native>, U64Key>, PoorHash> store(far_of(0));
  CHECK(put(store, "a", 10) == Put::kInserted);
  CHECK_FALSE(found(store, "b", 10));
  CHECK(found(store, "a", 10));
  CHECK(put(store, "b", 20) == Put::kInserted);
  CHECK_FALSE(found(store, "a", 10));
  CHECK(found(store, "b", 20));
  CHECK(put(store, "12", 30) == Put::kInserted);  // another hash
  CHECK_FALSE(taken(store, "a", 10));             // pushes b out
  CHECK_FALSE(found(store, "b", 20));
  CHECK_FALSE(store.erase("34"));  // pushes 12 out
  const BlockCounters counters = store.counters();
  CHECK(counters.collisions == 3);
  CHECK(counters.erased == 0);
  CHECK(counters.taken == 0);
  CHECK(counters.blocks() == 0);
  CHECK(counters.bytes() == 0);
}

TEST_CASE("Of threads that take the same blocks, one gets each") {
  constexpr u64 kBlocks = 2000;
  constexpr u32 kThreads = 4;
  BlockStore store(far_of(0));
  for (u64 i = 0; i < kBlocks; ++i) (void)put(store, key_of(i), 64);
  std::vector<std::atomic<u32>> times(kBlocks);
  std::atomic<u32> ready{0};
  {
    std::vector<std::jthread> threads;
    for (u32 t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        ++ready;
        while (ready != kThreads) std::this_thread::yield();
        for (u64 i = 0; i < kBlocks; ++i)
          (void)store.take(key_of(i), [&](ByteSpan block) { times[i] += is_right(key_of(i), 64, block) ? 1 : 1000; });
      });
    }
  }
  CHECK(std::ranges::all_of(times, [](const std::atomic<u32>& one) { return one == 1; }));
  const BlockCounters counters = store.counters();
  check_counts(counters, 64);
  CHECK(counters.lookups == kThreads * kBlocks);
  CHECK(counters.taken == kBlocks);
  CHECK(counters.blocks() == 0);
}

TEST_CASE("The counts are exact after threads have done everything at once, with few seats too") {
  constexpr u64 kLimit = 2 << 20;
  constexpr u64 kSize = 3000;
  constexpr u32 kThreads = 4;
  constexpr u64 kKeys = 1500;  // twice as many as fit
  for (const u32 seats : {1u, 2u, 64u}) {
    BlockStore store(far_of(kLimit), nullptr, seats);
    std::atomic<u64> wrong{0}, over{0}, hits{0}, puts{0}, lookups{0}, held_up{0};
    {
      std::vector<std::jthread> threads;
      for (u32 t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, seed = test_seed() + t] {
          Rng rng(seed);
          for (u32 i = 0; i < 5000; ++i) {
            const std::string key = key_of(rng.below(kKeys));
            const auto check = [&](ByteSpan block) { wrong += is_right(key, kSize, block) ? 0 : 1; };
            try {
              switch (rng.below(8)) {
                case 0: (void)store.erase(key); break;
                case 1:
                  ++lookups;
                  hits += store.find(key, check);
                  break;
                case 2:
                case 3:
                  ++lookups;
                  hits += store.take(key, check);
                  break;
                default:
                  ++puts;
                  (void)put(store, key, kSize);
                  break;
              }
            } catch (const std::bad_alloc&) {
              ++held_up;  // by a thread that did not run
            }
            over += store.charged() > kLimit;
          }
        });
      }
    }
    CHECK(wrong == 0);
    CHECK(over == 0);
    CHECK(held_up < 100);
    const BlockCounters counters = store.counters();
    check_counts(counters, kSize);
    CHECK(counters.puts == puts);
    CHECK(counters.lookups == lookups);
    CHECK(counters.hits == hits);
    u64 there = 0;
    for (u64 i = 0; i < kKeys; ++i) there += found(store, key_of(i), kSize);
    CHECK(there == counters.blocks());
    CHECK(there > kLimit / kSize / 2);
  }
}

TEST_CASE("When memory is out at any moment, an operation is done or refused, and nothing is lost or wrong") {
  constexpr u64 kSize = 200;
  for (u64 nth = 1;; ++nth) {
    FailurePlan fail;
    BlockStore store(far_of(0, &fail));
    for (u64 i = 0; i < 100; ++i) (void)put(store, key_of(i), kSize);
    fail.arm(nth, FailurePlan::Then::kForEver);
    u64 inserted = 100, removed = 0;
    for (u64 i = 100; i < 120; ++i) inserted += put(store, key_of(i), kSize) == Put::kInserted;
    for (u64 i = 0; i < 80; ++i) {
      try {
        removed += taken(store, key_of(i), kSize);
      } catch (const std::bad_alloc&) {
        CHECK(found(store, key_of(i), kSize));
      }
    }
    const u64 seen = fail.seen();
    fail.disarm();
    const BlockCounters counters = store.counters();
    check_counts(counters, kSize);
    CHECK(counters.inserts == inserted);
    CHECK(counters.taken == removed);
    u64 there = 0;
    for (u64 i = 0; i < 120; ++i) there += found(store, key_of(i), kSize);
    CHECK(there == inserted - removed);
    if (seen < nth) break;
  }
}

}  // namespace
}  // namespace latchlab::tier
