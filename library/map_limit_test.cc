// Tests of the memory of maps. At its limit one that is emptied must take pairs again, and one that is a cache must go
// on for ever. Pairs that pass from thread to thread must not make a map grow.
#include <atomic>
#include <chrono>
#include <concepts>
#include <latch>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/memc3/memc3.h"
#include "indexes/vip/vip.h"
#include "library/map.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

MemoryConfig limited_to(u64 bytes, MemoryConfig::Alloc alloc) {
  MemoryConfig memory;
  memory.alloc = alloc;
  memory.limit = bytes;
  return memory;
}

/// Returns a key of `size` bytes that a number determines.
std::string key_of(std::size_t size, u64 number) {
  std::string key = std::to_string(number);
  key.resize(size, 'k');
  return key;
}

/// Inserts pairs from number `first` on until one is refused. Returns how many were inserted.
template <class Map, class Insert>
u64 fill(const Insert& insert, u64 first) {
  for (u64 n = 0;; ++n) {
    try {
      insert(first + n);
    } catch (const std::bad_alloc&) {
      return n;
    }
  }
}

TEMPLATE_TEST_CASE("A map that is emptied at its limit takes as many pairs again", "", (Map<std::string, u64, Art>),
                   (Map<std::string, u64, Chained>), (Map<std::string, u64, Cuckoo>), (Map<std::string, u64, MemC3>)) {
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    for (const std::size_t size : {200, 20'000, 60'000}) {
      CAPTURE(word(alloc), size);
      TestType map("olc", limited_to(u64{1} << 20, alloc));
      const auto insert = [&](u64 n) { map.insert(key_of(size, n), n); };
      const u64 first = fill<TestType>(insert, 0);
      REQUIRE(first > 5);
      for (u64 round = 1; round < 4; ++round) {
        for (u64 n = 0; map.size() != 0; ++n) map.erase(key_of(size, (round - 1) * 100'000 + n));
        const u64 again = fill<TestType>(insert, round * 100'000);
        CHECK(again >= first - first / 4);
      }
    }
  }
}

/// Inserts `count` pairs into a map that makes room by its hand. Returns how many inserts a full turn did not help.
template <class Map, class KeyOf>
u64 refused_by_cache(Map& map, u64 count, const std::string& value, const KeyOf& key) {
  typename Map::Hand hand;
  u64 refused = 0;
  for (u64 n = 0; n < count; ++n) {
    for (u32 rounds = 0;;) {
      try {
        map.insert(key(n), value);
        break;
      } catch (const std::bad_alloc&) {}
      bool came_round = false;
      try {
        came_round = map.evict(hand, 64, [](const auto&, const auto&) {}).came_round;
      } catch (const std::bad_alloc&) {
        came_round = true;
      }
      if (came_round && ++rounds == 4) {
        ++refused;
        break;
      }
    }
  }
  return refused;
}

TEMPLATE_TEST_CASE("A cache of one thread at its limit goes on for ever", "", (Map<u64, std::string, Art>),
                   (Map<u64, std::string, Chained>), (Map<u64, std::string, Cuckoo>), (Map<u64, std::string, MemC3>)) {
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    for (const u64 limit : {u64{1} << 20, u64{2} << 20}) {
      for (const std::size_t size : {100, 300, 40'000}) {
        CAPTURE(word(alloc), limit, size);
        TestType map("olc", limited_to(limit, alloc));
        CHECK(refused_by_cache(map, 30'000, std::string(size, 'v'), [](u64 n) { return n; }) == 0);
      }
    }
  }
}

TEMPLATE_TEST_CASE("A cache of strings at its limit goes on for ever", "", (Map<std::string, std::string, Chained>),
                   (Map<std::string, std::string, Cuckoo>)) {
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    for (const std::size_t size : {20, 500, 2000}) {
      CAPTURE(word(alloc), size);
      TestType map("olc", limited_to(u64{4} << 20, alloc));
      CHECK(refused_by_cache(map, 3000, std::string(40'000, 'v'), [&](u64 n) { return key_of(size, n); }) == 0);
    }
  }
}

/// Inserts a pair as docs/library.md says, but never gives up. Returns how many pairs it evicted.
template <class Map>
u64 insert_into_cache(Map& map, typename Map::Hand& hand, u64 key, const std::string& value) {
  u64 evicted = 0;
  for (u32 tries = 1;; ++tries) {
    try {
      map.insert(key, value);
      return evicted;
    } catch (const std::bad_alloc&) {}
    if (tries > 2) std::this_thread::sleep_for(std::chrono::microseconds(50));
    try {
      map.evict(hand, 64, [&](u64, std::string_view) { ++evicted; });
    } catch (const std::bad_alloc&) {}
  }
}

TEMPLATE_TEST_CASE("A cache of four threads at its limit goes on, and counts what it evicts", "",
                   (Map<u64, std::string, Art>), (Map<u64, std::string, Chained>), (Map<u64, std::string, Cuckoo>),
                   (Map<u64, std::string, Vip>)) {
  constexpr u64 kThreads = 4, kEach = 8'000;
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    CAPTURE(word(alloc));
    TestType map("olc", limited_to(u64{4} << 20, alloc));
    std::atomic<u64> evicted{0};
    std::latch joined(kThreads);  // a thread that joins a full map may lack the memory to evict
    std::vector<std::thread> threads;
    for (u64 id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] {
        typename TestType::Hand hand;
        for (u64 n = 0; n < kEach; ++n) {
          evicted += insert_into_cache(map, hand, n * kThreads + id, std::string(200, 'v'));
          if (n == 0) joined.arrive_and_wait();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    u64 left = 0;
    map.for_each([&](u64 key, std::string_view value) { left += key < kThreads * kEach && value.size() == 200; });
    CHECK(evicted > 0);
    CHECK(left == map.size());
    CHECK(left == kThreads * kEach - evicted);
  }
}

template <class T>
T made_of(u64 number, std::size_t size) {
  if constexpr (std::same_as<T, u64>) {
    return number;
  } else {
    return key_of(size, number);
  }
}

/// Lets one member insert pairs and another erase them, round by round.
template <class Key, class Value, template <class, class> class Index>
void check_passing() {
  for (const std::string policy : {"olc", "spin", "rtm"}) {
    CAPTURE(policy);
    Map<Key, Value, Index> map(policy, {});
    auto inserter = map.join(), eraser = map.join();
    u64 reserved = 0;
    for (u64 round = 0; round < 100; ++round) {
      const u64 first = round << 32;
      for (u64 n = 0; n < 2000; ++n) inserter.insert(made_of<Key>(first + n, 20), made_of<Value>(n, n % 300));
      for (u64 n = 0; n < 2000; ++n) eraser.erase(made_of<Key>(first + n, 20));
      if (round == 10) reserved = map.bytes().reserved;
    }
    CHECK(map.size() == 0);
    CHECK(map.bytes().reserved <= reserved + (1 << 20));  // all pairs together took over 6 MB
  }
}

TEST_CASE("Pairs that one member inserts and another erases do not make a map grow") {
  SECTION("art") { check_passing<u64, u64, Art>(); }
  SECTION("chained") { check_passing<u64, u64, Chained>(); }
  SECTION("art, sized values") { check_passing<u64, std::string, Art>(); }
  SECTION("chained, sized values") { check_passing<u64, std::string, Chained>(); }
  SECTION("art, strings") { check_passing<std::string, u64, Art>(); }
  SECTION("cuckoo, strings") { check_passing<std::string, u64, Cuckoo>(); }
}

}  // namespace
}  // namespace latchlab::testing
