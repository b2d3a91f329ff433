// Tests of sized values over two memories (sized_tiers.h). The race finder moves values beside changes
// (sized_race_test.cc).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <deque>
#include <list>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/sized.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/media/medium.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

constexpr u64 kMiB = u64{1} << 20;
constexpr u64 kValueBytes = 256;
constexpr u64 kBlockBytes = 320;  // of such a value with its header, in a pool

/// An index over two memories, used by one thread. Values of 256 bytes say their key and their version.
template <template <class, class> class Index, class Policy = Olc<Native>>
class TwoMemories {
 public:
  using Values = Sized<Synchronized<Index, Policy, U64Key>>;

  TwoMemories(std::string_view rule, u64 near_bytes, u64 far_bytes = 256 * kMiB)
      : index_(near(near_bytes), far(rule, far_bytes), Spec::parse(Policy::kName), MemoryConfig{}),
        me_(index_.join()) {}

  static std::string value(u64 key, u64 version = 0) {
    std::string text = std::to_string(key) + " " + std::to_string(version);
    text.resize(kValueBytes, '.');
    return text;
  }
  static ByteSpan bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

  bool insert(u64 key) { return index_.insert(me_, key, bytes(value(key))); }
  bool update(u64 key, u64 version) { return index_.update(me_, key, bytes(value(key, version))); }
  bool erase(u64 key) { return index_.erase(me_, key); }
  /// Returns true if the key is present and has this version.
  bool has(u64 key, u64 version = 0) {
    bool right = false;
    const bool there =
        index_.find(me_, key, [&](ByteSpan found) { right = std::ranges::equal(found, bytes(value(key, version))); });
    return there && right;
  }
  bool has_in_batch(std::span<const u64> keys) {
    std::size_t right = 0;
    index_.find_batch(
        me_, keys, [&](std::size_t i, ByteSpan found) { right += std::ranges::equal(found, bytes(value(keys[i]))); });
    return right == keys.size();
  }
  bool demote() { return index_.demote(me_); }
  TierCounters counters() const { return index_.tier_counters(); }
  SizedFootprint memory() const { return index_.bytes(); }
  Values& index() { return index_; }
  typename Values::ThreadState& me() { return me_; }

 private:
  static MemoryConfig near(u64 bytes) { return {.alloc = MemoryConfig::Alloc::kArena, .limit = bytes}; }
  static FarMemory far(std::string_view rule, u64 bytes) {
    return {.memory = {.alloc = MemoryConfig::Alloc::kArena, .limit = bytes},
            .rule = PlacementRule::parse(rule, "--rule")};
  }

  Values index_;
  typename Values::ThreadState me_;
};

TEST_CASE("Values that near memory has no room for are far, and all are found") {
  TwoMemories<Cuckoo> pairs("near-first", 4 * kMiB);
  constexpr u64 kKeys = 40'000;
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
  const SizedFootprint memory = pairs.memory();
  CHECK(memory.values.reserved <= 4 * kMiB);
  CHECK(memory.far.live > kKeys * kBlockBytes - 4 * kMiB);
  const TierCounters filled = pairs.counters();
  CHECK(filled.far_bytes_written == filled.far_writes * kValueBytes);
  // Records of what waits to be freed may be there, too, since near memory is full.
  const u64 blocks = (filled.far_writes - filled.promotions) * kBlockBytes;
  CHECK(memory.far.live >= blocks);
  CHECK(memory.far.live <= blocks + 4096);
  u64 right = 0;
  for (u64 key = 0; key < kKeys; ++key) right += pairs.has(key);
  CHECK(right == kKeys);
  const TierCounters read = pairs.counters();
  CHECK(read.near_reads + read.far_reads == kKeys);
  CHECK(read.far_bytes_read == read.far_reads * kValueBytes);
  CHECK(read.late_moves == 0);
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.erase(key));
  CHECK_FALSE(pairs.has(0));
}

TEST_CASE("The touch that the rule names moves a value to near memory, and no touch does if it never promotes") {
  for (const auto& [rule, touch] : {std::pair("near-first,promote=1", 1u), std::pair("far-first,promote=3", 3u),
                                    std::pair("far-first,promote=7", 7u), std::pair("far-first,promote=never", 0u),
                                    std::pair("fixed:1,promote=2", 2u)}) {
    CAPTURE(rule);
    TwoMemories<Chained> pairs(rule, 64 * kMiB);
    REQUIRE(pairs.insert(1));
    if (pairs.counters().far_writes == 0) REQUIRE(pairs.demote());
    CHECK(pairs.counters().far_writes == 1);
    for (u32 i = 1; i <= 10; ++i) {
      REQUIRE(pairs.has(1));
      CHECK(pairs.counters().promotions == (touch != 0 && i >= touch));
      CHECK(pairs.counters().far_reads == (touch == 0 ? i : std::min(i, touch)));
    }
  }
}

TEST_CASE("A batch of finds moves its values, too") {
  TwoMemories<Cuckoo> pairs("far-first,promote=1", 64 * kMiB);
  std::vector<u64> keys(1000);
  for (u64 key = 0; key < keys.size(); ++key) {
    keys[key] = key;
    REQUIRE(pairs.insert(key));
  }
  for (u32 round = 0; round < 10; ++round) CHECK(pairs.has_in_batch(keys));
  CHECK(pairs.counters().promotions == keys.size());
  CHECK(pairs.memory().far.live < 3 * 64 * kBlockBytes);  // what waits to be freed
}

TEST_CASE("Cold values leave near memory, and those that are used stay") {
  TwoMemories<Cuckoo> pairs("near-first,promote=never", 64 * kMiB);
  constexpr u64 kKeys = 1000;
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
  for (u64 key = 0; key < kKeys; key += 2) REQUIRE(pairs.has(key));
  // The hand clears a mark where it comes by. In this round it has not come by all.
  while (pairs.counters().demotions < kKeys / 4 && pairs.demote()) {}
  const u64 demotions = pairs.counters().demotions;
  CHECK(demotions >= kKeys / 4);
  for (u64 key = 0; key < kKeys; key += 2) REQUIRE(pairs.has(key));
  CHECK(pairs.counters().far_reads == 0);
  for (u64 key = 1; key < kKeys; key += 2) REQUIRE(pairs.has(key));
  CHECK(pairs.counters().far_reads == demotions);
}

TEST_CASE("A hand looks at near values alone, however many are far") {
  TwoMemories<Cuckoo> pairs("near-first", 2 * kMiB);
  constexpr u64 kKeys = 200'000;  // 3 % are near
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
  Rng random(test_seed());
  const TierCounters filled = pairs.counters();
  for (u32 step = 0; step < 20'000; ++step) REQUIRE(pairs.has(random.below(kKeys)));
  const TierCounters read = pairs.counters();
  CHECK(read.demotions - filled.demotions > 10'000);
  CHECK(read.looks - filled.looks < 4 * (read.demotions - filled.demotions));
}

TEST_CASE("Near memory does not drain while another thread stays in an operation") {
  TwoMemories<Cuckoo> pairs("near-first", 4 * kMiB);
  constexpr u64 kKeys = 40'000;
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
  auto other = pairs.index().join();
  const TierCounters before = pairs.counters();
  u64 right = 0;
  const bool there = pairs.index().find(other, 0, [&](ByteSpan) {
    for (u64 key = 0; key < kKeys; ++key) right += pairs.has(key);
  });
  REQUIRE(there);
  CHECK(right == kKeys);
  CHECK(pairs.counters().demotions - before.demotions < 1000);
  const u64 held_up = pairs.counters().demotions;
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.has(key));
  CHECK(pairs.counters().demotions - held_up > kKeys / 2);
}

TEST_CASE("A value that near memory can never hold moves no others, and one that is smaller moves larger ones") {
  TwoMemories<Cuckoo> pairs("near-first,promote=never", 2 * kMiB);
  for (u64 key = 0; pairs.counters().near_full == 0; ++key) REQUIRE(pairs.insert(key));
  const TierCounters full = pairs.counters();
  const std::string large(300'000, 'x'), small(100, 'y');
  for (u64 key = 0; key < 20; ++key)
    REQUIRE(pairs.index().insert(pairs.me(), 1'000'000 + key, std::as_bytes(std::span(large))));
  CHECK(pairs.counters().demotions == full.demotions);
  const u64 far_writes = pairs.counters().far_writes;
  for (u64 key = 0; key < 1000; ++key)
    REQUIRE(pairs.index().insert(pairs.me(), 2'000'000 + key, std::as_bytes(std::span(small))));
  const TierCounters after = pairs.counters();
  CHECK(after.demotions > full.demotions);
  const u64 small_and_far = after.far_writes - far_writes - (after.demotions - full.demotions);
  CHECK(small_and_far < 300);
}

TEST_CASE("The entries of replaced values go") {
  TwoMemories<Cuckoo> pairs("near-first", 64 * kMiB);
  for (u64 key = 0; key < 1000; ++key) REQUIRE(pairs.insert(key));
  for (u64 round = 1; round <= 100; ++round) {
    for (u64 key = 0; key < 1000; ++key) REQUIRE(pairs.update(key, round));
  }
  const u64 bytes = pairs.index().bytes().index.live;
  for (u64 round = 101; round <= 200; ++round) {
    for (u64 key = 0; key < 1000; ++key) REQUIRE(pairs.update(key, round));
  }
  CHECK(pairs.index().bytes().index.live <= bytes + 4096);
  for (u64 key = 0; key < 1000; ++key) REQUIRE(pairs.erase(key));
}

TEST_CASE("A fixed share of the keys may be near, and a weighted one never moves") {
  for (const std::string& rule : {std::string("fixed:0.25"), std::string("weighted:0.25")}) {
    CAPTURE(rule);
    TwoMemories<Cuckoo> pairs(rule, 64 * kMiB);
    constexpr u64 kKeys = 10'000;
    for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
    const PlacementRule parsed = PlacementRule::parse(rule, "--rule");
    u64 near = 0;
    for (u64 key = 0; key < kKeys; ++key) near += parsed.may_be_near(mix64(key));
    CHECK(pairs.counters().far_writes == kKeys - near);
    for (u32 round = 0; round < 3; ++round) {
      for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.has(key));
    }
    CHECK(pairs.counters().promotions == 0);
    for (u32 round = 0; round < 20; ++round) (void)pairs.demote();  // the first ones clear marks
    CHECK((pairs.counters().demotions != 0) == (rule == "fixed:0.25"));
  }
}

TEST_CASE("When both memories are full, an insert throws and changes nothing, and an erase makes room") {
  TwoMemories<Cuckoo> pairs("near-first", 2 * kMiB, 4 * kMiB);
  u64 keys = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;; ++keys) (void)pairs.insert(keys);
      }(),
      std::bad_alloc);
  CHECK(keys > 5 * kMiB / kBlockBytes);
  for (u64 key = 0; key < keys; ++key) REQUIRE(pairs.has(key));
  CHECK_FALSE(pairs.has(keys));
  for (u64 key = 0; key < 100; ++key) REQUIRE(pairs.erase(key));
  u64 more = 0;
  for (; more < 90 && pairs.insert(keys + more); ++more) {}
  CHECK(more == 90);
}

TEST_CASE("A clock hand that evicts keeps far values that were used, as it keeps near ones") {
  TwoMemories<Cuckoo> pairs("far-first,promote=never", 64 * kMiB);
  for (u64 key = 0; key < 4; ++key) REQUIRE(pairs.insert(key));
  REQUIRE(pairs.has(2));
  typename TwoMemories<Cuckoo>::Values::Walk hand;
  u64 evicted = 0;
  while (!pairs.index().evict(pairs.me(), hand, 16, [&](u64, ByteSpan) { ++evicted; }).came_round) {}
  CHECK(evicted == 3);
  CHECK(pairs.has(2));
}

TEST_CASE("Updates and erases that show nothing read nothing") {
  TwoMemories<Cuckoo> pairs("weighted:0", kMiB);
  for (u64 key = 0; key < 100; ++key) REQUIRE(pairs.insert(key));
  for (u64 key = 0; key < 100; ++key) REQUIRE(pairs.update(key, 1));
  for (u64 key = 0; key < 50; ++key) REQUIRE(pairs.erase(key));
  CHECK(pairs.counters().far_reads == 0);
  pairs.index().erase(pairs.me(), 60, [](ByteSpan) {});
  CHECK(pairs.counters().far_reads == 1);
}

TEST_CASE("A thread that erases what another has inserted in far memory gives the blocks back") {
  using Values = Sized<Synchronized<Cuckoo, Olc<Native>, U64Key>>;
  const MemoryConfig far{.alloc = MemoryConfig::Alloc::kArena, .limit = 4 * kMiB};
  Values index(MemoryConfig{.alloc = MemoryConfig::Alloc::kArena},
               FarMemory{.memory = far, .rule = PlacementRule::parse("weighted:0", "--rule")}, Spec::parse("olc"),
               MemoryConfig{});
  auto inserting = index.join(), erasing = index.join();
  const std::string text(50, 'x');
  for (u64 round = 0; round < 200; ++round) {
    for (u64 key = 0; key < 1000; ++key) REQUIRE(index.insert(inserting, key, std::as_bytes(std::span(text))));
    for (u64 key = 0; key < 1000; ++key) REQUIRE(index.erase(erasing, key));
  }
}

TEST_CASE("Blocks go back to the memory that they are from, also if near memory has no room for records") {
  const bool near_is_malloc = GENERATE(false, true);
  using Values = Sized<Synchronized<Chained, Tiny<Olc<Native>>, U64Key>>;
  MemoryConfig near{.alloc = MemoryConfig::Alloc::kArena, .limit = kMiB};
  if (near_is_malloc) near.alloc = MemoryConfig::Alloc::kMalloc;
  const MemoryConfig far{.alloc = MemoryConfig::Alloc::kArena, .limit = 64 * kMiB};
  Values index(near, FarMemory{.memory = far}, Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  const std::string text(1060, 'x');
  for (u64 key = 0; key < 3000; ++key) REQUIRE(index.insert(me, key, std::as_bytes(std::span(text))));
  // Threads that join now find no room in near memory for their records.
  std::deque<typename Values::ThreadState> threads;
  for (u32 i = 0; i < 5; ++i) threads.push_back(index.join());
  Rng random(test_seed());
  const auto is_in_far = [&](const void* at) {
    return std::ranges::any_of(index.far_chunks(), [&](const ChunkSource::Chunk& chunk) {
      const auto offset = static_cast<const char*>(at) - static_cast<const char*>(chunk.start);
      return offset >= 0 && static_cast<u64>(offset) < chunk.bytes;
    });
  };
  u64 wrong = 0;
  for (u32 step = 0; step < 6000; ++step) {
    auto& mine = threads[step % threads.size()];
    (void)index.update(mine, random.below(3000), std::as_bytes(std::span(text)));
    const u64 before = index.tier_counters().far_reads;
    const void* at = nullptr;
    REQUIRE(index.find(mine, random.below(3000), [&](ByteSpan value) { at = value.data(); }));
    wrong += is_in_far(at) != (index.tier_counters().far_reads != before);
  }
  CHECK(wrong == 0);
}

TEST_CASE("A rule that drops values is refused") {
  CHECK_THAT(refusal([] { const TwoMemories<Cuckoo> pairs("second-touch", kMiB); }),
             Catch::Contains("only a cache may have it"));
}

/// Runs random operations of all forms, and compares them with a map.
template <template <class, class> class Index, class Policy>
void compare_with_map(std::string_view rule) {
  TwoMemories<Index, Policy> pairs(rule, kMiB);
  std::map<u64, u64> right;
  Rng random(test_seed());
  constexpr u64 kKeys = 6000;
  for (u64 step = 0; step < 20'000; ++step) {
    const u64 key = random.below(kKeys);
    const auto there = right.find(key);
    switch (random.below(8)) {
      case 0:
        REQUIRE(pairs.erase(key) == (there != right.end()));
        right.erase(key);
        break;
      case 1:
        REQUIRE(pairs.update(key, step) == (there != right.end()));
        if (there != right.end()) there->second = step;
        break;
      case 2: {
        std::string text;
        const Effect effect = pairs.index().modify(pairs.me(), key, [&](std::optional<ByteSpan> old) {
          text = pairs.value(key, old ? step : 0);
          return Change::to(pairs.bytes(text));
        });
        REQUIRE((effect == Effect::kInserted) == (there == right.end()));
        right[key] = there == right.end() ? 0 : step;
        break;
      }
      case 3:
        REQUIRE(pairs.insert(key) == (there == right.end()));
        right.try_emplace(key, 0);
        break;
      case 4: (void)pairs.demote(); break;
      default:
        if (there == right.end()) {
          REQUIRE_FALSE(pairs.has(key));
        } else {
          REQUIRE(pairs.has(key, there->second));
        }
    }
  }
  u64 same = 0;
  pairs.index().for_each(pairs.me(), [&](u64 key, ByteSpan found) {
    same += right.contains(key) && std::ranges::equal(found, pairs.bytes(pairs.value(key, right[key])));
  });
  CHECK(same == right.size());
  CHECK(pairs.counters().promotions > 0);
  CHECK(pairs.counters().demotions > 100);
}

TEST_CASE("Two memories answer as one does") {
  for (const std::string_view rule : {"near-first", "far-first", "fixed:0.5,promote=3"}) {
    CAPTURE(rule);
    compare_with_map<Cuckoo, Olc<Native>>(rule);
    compare_with_map<Chained, Spin<Native>>(rule);
    compare_with_map<Art, Olc<Native>>(rule);
    compare_with_map<Cuckoo, Rtm<Native>>(rule);
    compare_with_map<Chained, Tiny<Olc<Native>>>(rule);  // each retired block needs a record of its own
  }
}

TEST_CASE("Threads that read, replace and erase values find whole ones while hands move them") {
  using Values = Sized<Synchronized<Cuckoo, Olc<Native>, U64Key>>;
  const MemoryConfig near{.alloc = MemoryConfig::Alloc::kArena, .limit = kMiB};
  const MemoryConfig far{.alloc = MemoryConfig::Alloc::kArena, .limit = 64 * kMiB};
  Values index(near, FarMemory{.memory = far}, Spec::parse("olc"), MemoryConfig{});
  constexpr u64 kKeys = 4000;
  const auto value = [](u64 key, u64 random) {
    return std::string(100 + random % 900, static_cast<char>('a' + key % 26));
  };
  const auto is_whole = [](u64 key, ByteSpan bytes) {
    return !bytes.empty() &&
           std::ranges::all_of(bytes, [&](std::byte byte) { return byte == static_cast<std::byte>('a' + key % 26); });
  };
  std::atomic<u64> wrong = 0;
  const auto work = [&](u64 number) {
    auto me = index.join();
    Rng random(test_seed() + number);
    for (u64 step = 0; step < 15'000; ++step) {
      const u64 key = random.below(kKeys), kind = random.below(8);
      const std::string text = value(key, random.below(900));
      const ByteSpan bytes = std::as_bytes(std::span(text));
      if (kind == 0) {
        index.erase(me, key);
      } else if (kind < 3) {
        index.upsert(me, key, bytes);
      } else if (kind == 3) {
        index.modify(me, key, [&](std::optional<ByteSpan>) { return Change::to(bytes); });
      } else {
        index.find(me, key, [&](ByteSpan found) { wrong.fetch_add(!is_whole(key, found), kRelaxed); });
      }
    }
  };
  std::vector<std::thread> threads;
  for (u64 number = 0; number < 3; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load(kRelaxed) == 0);
  CHECK(index.tier_counters().demotions > 100);
  CHECK(index.tier_counters().promotions > 100);
  auto me = index.join();
  for (u64 key = 0; key < kKeys; ++key) index.erase(me, key);
}

/// Counts the hits of a cache of so many values that drops the least recently used one.
class IdealLru {
 public:
  explicit IdealLru(std::size_t most) : most_(most) {}
  bool use(u64 key) {
    const auto found = places_.find(key);
    const bool hit = found != places_.end();
    if (hit) order_.erase(found->second);
    order_.push_front(key);
    places_[key] = order_.begin();
    if (places_.size() > most_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    return hit;
  }

 private:
  const std::size_t most_;
  std::list<u64> order_;
  std::unordered_map<u64, std::list<u64>::iterator> places_;
};

/// Draws keys 0, 1, ... with weights 1, 2^-.99, 3^-.99, ...
class ZipfKeys {
 public:
  explicit ZipfKeys(u64 keys) : sums_(keys) {
    double sum = 0;
    for (u64 key = 0; key < keys; ++key) sums_[key] = sum += std::pow(static_cast<double>(key + 1), -.99);
  }
  u64 draw(Rng& random) const {
    const double at = static_cast<double>(random.below(u64{1} << 53)) / 0x1p53 * sums_.back();
    return static_cast<u64>(std::ranges::upper_bound(sums_, at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

TEST_CASE("Near memory serves nearly as many finds as an ideal LRU of its size") {
  constexpr u64 kKeys = 50'000, kNear = kKeys / 10;
  TwoMemories<Cuckoo> pairs("near-first", kNear * kBlockBytes);
  for (u64 key = 0; key < kKeys; ++key) REQUIRE(pairs.insert(key));
  IdealLru ideal(kNear);
  const ZipfKeys zipf(kKeys);
  Rng random(test_seed());
  u64 ideal_hits = 0, near = 0;
  for (u32 step = 0; step < 250'000; ++step) {
    const u64 key = zipf.draw(random);
    const bool hit = ideal.use(key);
    REQUIRE(pairs.has(key));
    if (step == 100'000) near = pairs.counters().near_reads;
    if (step > 100'000) ideal_hits += hit;
  }
  const u64 hits = pairs.counters().near_reads - near;
  CAPTURE(hits, ideal_hits, pairs.counters().near_full, pairs.counters().promotions);
  CHECK(static_cast<double>(hits) >= .95 * static_cast<double>(ideal_hits));
}

}  // namespace
}  // namespace latchlab::testing
