// Tests of caches by the clock algorithm: Sized::use marks, and Sized::evict turns a hand. The race finder runs hands
// beside changes (sized_race_test.cc).
#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/memc3/memc3.h"
#include "indexes/sized.h"
#include "src/arch/sanitizer.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/memory/memory_config.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

template <template <class, class> class Index, class Policy = Olc<Native>>
using Cached = Sized<Synchronized<Index, Policy, U64Key>>;
using CachedStrings = Sized<ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>>>;

template <class Map>
Spec policy_of(const Sized<Map>*) {
  return Spec::parse(Map::Policy::kName);
}
u64 cache_key(u64 number, u64) { return mix64(number); }
std::string cache_key(u64 number, std::string_view) { return std::to_string(number); }

/// A cache whose keys are numbered, used by one thread.
template <class Index>
class Cache {
 public:
  using Raw = typename Index::Raw;

  explicit Cache(const MemoryConfig& memory = {})
      : index_(memory, policy_of(static_cast<Index*>(nullptr)), memory), me_(index_.join()) {}

  static auto key(u64 number) { return cache_key(number, Raw()); }
  static std::string value(u64 number) { return "the value of " + std::to_string(number); }
  bool put(u64 number) { return put(number, value(number)); }
  bool put(u64 number, const std::string& text) {
    return index_.insert(me_, key(number), std::as_bytes(std::span(text)));
  }
  bool replace(u64 number, const std::string& text) {
    return index_.update(me_, key(number), std::as_bytes(std::span(text)));
  }
  /// Puts a value by a modification with this mark. If it shall be `late`, another thread replaces the value as long as
  /// the modification's function runs outside attempts, and at last makes it used, or removes it.
  enum class Before : u8 { kUnused, kUsed, kAbsent };
  Effect modify(u64 number, Mark mark, Before before, bool late) {
    auto other = index_.join();
    u32 runs = 0;
    const std::string text = value(number);
    const ByteSpan bytes = std::as_bytes(std::span(text));
    const auto overtake = [&] {
      if (!late || ++runs > Index::kMostStale) return;
      REQUIRE(index_.update(other, key(number), bytes));
      if (runs < Index::kMostStale) return;
      if (before == Before::kUsed) REQUIRE(index_.use(other, key(number), [](ByteSpan) {}));
      if (before == Before::kAbsent) REQUIRE(index_.erase(other, key(number)));
    };
    put(number);
    if (!late && before == Before::kUsed) use(number);
    if (!late && before == Before::kAbsent) index_.erase(me_, key(number));
    return index_.modify(me_, key(number), [&](std::optional<ByteSpan>) {
      overtake();
      return Change::to(bytes, {}, mark);
    });
  }
  bool use(u64 number) {
    return index_.use(me_, key(number), [&](ByteSpan bytes) { CHECK(text_of(bytes) == value(number)); });
  }
  std::size_t use_all(const std::vector<u64>& numbers) {
    std::vector<decltype(key(0))> keys;
    for (const u64 number : numbers) keys.push_back(key(number));
    const std::vector<Raw> raws(keys.begin(), keys.end());
    return index_.use_batch(me_, raws,
                            [&](std::size_t i, ByteSpan bytes) { CHECK(text_of(bytes) == value(numbers[i])); });
  }
  bool has(u64 number) { return index_.contains(me_, key(number)); }
  auto pin(u64 number) { return index_.pin(me_, key(number)); }
  u64 count() {
    u64 pairs = 0;
    index_.for_each(me_, [&](const Raw&, ByteSpan) { ++pairs; });
    return pairs;
  }
  /// Turns the hand by a step. Returns what evict did.
  template <class Evicted>
  Eviction turn(std::size_t most, Evicted&& evicted) {
    return index_.evict(me_, hand_, most, evicted);
  }
  /// Turns the hand until it has come round. Returns the number of pairs evicted.
  std::size_t round() {
    std::size_t pairs = 0, told = 0;
    for (bool ended = false; !ended;) {
      const Eviction step = turn(8, [&](const Raw&, ByteSpan) { ++told; });
      CHECK(step.came_round == hand_.at_start());
      pairs += step.pairs;
      ended = step.came_round;
    }
    CHECK(told == pairs);
    return pairs;
  }

  static std::string text_of(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  Index& index() { return index_; }
  typename Index::ThreadState& me() { return me_; }

 private:
  Index index_;
  typename Index::ThreadState me_;
  typename Index::Walk hand_;
};

using Caching = std::tuple<Cached<Cuckoo>, Cached<Chained>, Cached<Art>, Cached<MemC3>, Cached<Cuckoo, Spin<Native>>,
                           CachedStrings>;

TEMPLATE_LIST_TEST_CASE("A clock hand evicts the pairs that were not used since it came by", "", Caching) {
  Cache<TestType> cache;
  CHECK(cache.round() == 0);
  for (u64 number = 0; number < 300; ++number) REQUIRE(cache.put(number));
  for (u64 number = 0; number < 100; ++number) REQUIRE(cache.use(number));
  std::vector<u64> batch;
  for (u64 number = 100; number < 200; ++number) batch.push_back(number);
  batch.push_back(1000);
  CHECK(cache.use_all(batch) == 100);
  CHECK_FALSE(cache.use(1000));
  CHECK(cache.round() == 100);
  for (u64 number = 0; number < 300; ++number) REQUIRE(cache.has(number) == (number < 200));
  for (u64 number = 0; number < 50; ++number) REQUIRE(cache.use(number));  // others were used before the last round
  CHECK(cache.round() == 150);
  CHECK(cache.count() == 50);
  CHECK(cache.round() == 50);
  CHECK(cache.count() == 0);
  CHECK(cache.index().reclaim_counters().retired == 300);
}

TEMPLATE_LIST_TEST_CASE("A cache that evicts when it is full keeps its popular keys", "", Caching) {
  constexpr u64 kMost = 500, kHot = 50;
  Cache<TestType> cache;
  u64 pairs = 0;
  for (u64 number = 0; number < 10 * kMost; ++number) {
    pairs += cache.put(number);
    while (pairs > kMost) pairs -= cache.turn(1, [](const auto&, ByteSpan) {}).pairs;
    for (u64 hot = 0; hot < std::min(kHot, number) && number % 50 == 0; ++hot) {
      INFO(hot << " after " << number);
      REQUIRE(cache.use(hot));
    }
  }
  CHECK(cache.count() == pairs);
  for (u64 hot = 0; hot < kHot; ++hot) CHECK(cache.has(hot));
}

TEMPLATE_LIST_TEST_CASE("A modification marks the value that it makes as it wishes", "", Caching) {
  using Before = typename Cache<TestType>::Before;
  for (const bool late : {false, true}) {
    CAPTURE(late);
    Cache<TestType> cache;
    std::vector<u64> stays;
    u64 number = 0;
    for (const Mark mark : {Mark::kClear, Mark::kKeep, Mark::kUsed}) {
      for (const Before before : {Before::kUnused, Before::kUsed, Before::kAbsent}) {
        ++number;
        CHECK(cache.modify(number, mark, before, late) ==
              (before == Before::kAbsent ? Effect::kInserted : Effect::kReplaced));
        if (mark == Mark::kUsed || (mark == Mark::kKeep && before == Before::kUsed)) stays.push_back(number);
      }
    }
    CHECK(cache.round() == number - stays.size());
    for (const u64 each : stays) CHECK(cache.has(each));
    CHECK(cache.round() == stays.size());
  }
}

TEST_CASE("A value begins unused, also one that replaces a used value, and a short one stays so") {
  Cache<Cached<Chained>> cache;
  cache.put(1);
  cache.put(2);
  cache.put(3, "short");
  CHECK(cache.use(1));
  CHECK(cache.use(2));
  CHECK(cache.index().use(cache.me(), cache.key(3), [](ByteSpan) {}));
  CHECK(cache.replace(2, "another value"));
  std::map<u64, std::string> evicted;
  (void)cache.turn(16, [&](u64 key, ByteSpan bytes) { evicted.emplace(key, cache.text_of(bytes)); });
  while (evicted.size() < 2 && cache.count() > 1)
    (void)cache.turn(16, [&](u64 key, ByteSpan bytes) { evicted.emplace(key, cache.text_of(bytes)); });
  CHECK(evicted == std::map<u64, std::string>{{cache.key(2), "another value"}, {cache.key(3), "short"}});
  CHECK(cache.has(1));
}

TEST_CASE("A pin keeps the bytes of a value that the hand evicts, and a used value that is pinned goes back") {
  Cache<Cached<Cuckoo>> cache;
  cache.put(1);
  CHECK(cache.use(1));
  {
    const auto pinned = cache.pin(1);
    REQUIRE(pinned.has_value());
    CHECK(cache.round() == 0);  // it was used
    CHECK(cache.round() == 1);
    CHECK(cache.text_of(pinned->bytes()) == cache.value(1));
  }
  cache.put(2);
  CHECK(cache.use(2));
  CHECK(cache.index().erase(cache.me(), cache.key(2)));
  cache.index().idle(cache.me());
}

template <class Index>
void check_throwing(Cache<Index>& cache) {
  for (u64 number = 0; number < 100; ++number) cache.put(number);
  u64 calls = 0, thrown = 0, left = 100;
  for (u32 steps = 0; cache.count() != 0 && steps < 10'000; ++steps) {
    try {
      (void)cache.turn(16, [&](const auto&, ByteSpan) {
        --left;
        if (++calls % 3 == 0) throw std::runtime_error("stop");
      });
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    REQUIRE(cache.count() == left);
  }
  CHECK(left == 0);
  CHECK(thrown > 20);
}
TEST_CASE("What an evicted pair's visitor throws leaves the step, and the pair stays evicted") {
  Cache<Cached<Chained>> numbers;
  check_throwing(numbers);
  Cache<CachedStrings> strings;
  check_throwing(strings);
}

TEMPLATE_TEST_CASE("A step of a clock hand that lacks memory loses no pair", "", Cached<Chained>, Cached<Art>) {
  u64 struck = 0;  // steps in which an allocation failed
  for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
    for (u64 n = 1; n < 12; ++n) {
      CAPTURE(n);
      FailurePlan plan;
      MemoryConfig memory;
      memory.alloc = MemoryConfig::Alloc::kMalloc;
      memory.reclaim = Reclaim::kQsbr;
      memory.fail = &plan;
      Cache<TestType> cache(memory);
      auto quiet = cache.index().join();  // all that is retired waits for it
      CHECK_FALSE(cache.index().find(quiet, 1, [](ByteSpan) {}));
      for (u64 number = 0; number < 200; ++number) REQUIRE(cache.put(number));
      u64 left = 200;
      const auto step = [&] {
        try {
          (void)cache.turn(16, [&](u64, ByteSpan) { --left; });
        } catch (const std::bad_alloc&) {}
      };
      while (left != 0) {
        plan.arm(n, then);
        step();
        struck += plan.seen() >= n;
        plan.disarm();
        REQUIRE(cache.count() == left);
        // A step that lacked memory may have passed all pairs. Then the next one only ends the round.
        for (u32 i = 0; i < 2; ++i) {
          step();
          REQUIRE(cache.count() == left);
        }
      }
    }
  }
  CHECK(struck > 0);
}

TEMPLATE_TEST_CASE("A cache at its memory limit makes room by evicting until an insert succeeds", "", Cached<Cuckoo>,
                   Cached<Chained>, Cached<Art>, CachedStrings) {
  MemoryConfig memory;
  memory.limit = u64{1} << 20;
  Cache<TestType> cache(memory);
  const std::string page(1000, 'p');
  u64 evicted = 0, refused = 0;
  for (u64 number = 0; number < 5000; ++number) {
    // Two rounds clear all marks and evict every pair.
    bool added = false;
    for (u32 rounds = 0;;) {
      try {
        added = cache.put(number, page);
        break;
      } catch (const std::bad_alloc&) {
        ++refused;
        REQUIRE(rounds < 2);
        const Eviction step = cache.turn(16, [](const auto&, ByteSpan) {});
        evicted += step.pairs;
        rounds += step.came_round;
      }
    }
    REQUIRE(added);
    REQUIRE(cache.has(number));
    (void)cache.index().use(cache.me(), cache.key(7), [](ByteSpan) {});
  }
  CHECK(refused > 0);
  CHECK(cache.count() == 5000 - evicted);
  CHECK(cache.count() > 100);
  CHECK(cache.has(7));  // the popular one
}

TEST_CASE("Threads with a hand each neither lose a pair nor take one twice", "[threads]") {
  constexpr u64 kKeys = 200, kThreads = 3, kRounds = kSanitized ? 3000 : 20'000;
  using Index = Cached<Cuckoo>;
  Index index(MemoryConfig{}, Spec::parse("olc"), MemoryConfig{});
  std::atomic<u64> wrong{0}, put{0}, taken{0};
  const auto number_in = [](ByteSpan bytes) { return std::stoull(Cache<Index>::text_of(bytes).substr(13)); };
  std::vector<std::thread> threads;
  for (u64 id = 0; id < kThreads; ++id) {
    threads.emplace_back([&, id] {
      auto me = index.join();
      Index::Walk hand;
      Rng rng(test_seed() + id);
      u64 mine = 0, gone = 0, bad = 0;
      for (u64 i = 0; i < kRounds; ++i) {
        const u64 key = rng.below(kKeys), number = i * kThreads + id;
        const std::string value = Cache<Index>::value(number);
        const auto count = [&](ByteSpan bytes) { gone += number_in(bytes); };
        switch (rng.below(4)) {
          case 0: mine += number * index.insert(me, key, std::as_bytes(std::span(value))); break;
          case 1: mine += number, (void)index.upsert(me, key, std::as_bytes(std::span(value)), count); break;
          case 2: (void)index.evict(me, hand, 4, [&](u64, ByteSpan bytes) { count(bytes); }); break;
          default: (void)index.use(me, key, [&](ByteSpan bytes) { bad += bytes.size() < 14; });
        }
      }
      put += mine, taken += gone, wrong += bad;
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto me = index.join();
  u64 left = 0;
  index.for_each(me, [&](u64, ByteSpan bytes) { left += number_in(bytes); });
  CHECK(wrong == 0);
  CHECK(put == taken + left);
}

}  // namespace
}  // namespace latchlab::testing
