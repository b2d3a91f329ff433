// Tests of ART with its leaves in far memory (MemoryConfig::far_leaves): which block lies where, and what happens when
// far memory is out.
#include <algorithm>
#include <concepts>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "src/base/rng.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using Alloc = MemoryConfig::Alloc;
constexpr u64 kMiB = u64{1} << 20;

/// ART that a test can find inside its policy.
template <class Layout, class Key>
class SeenArt : public Art<Layout, Key> {
 public:
  SeenArt() { newest = this; }
  inline static SeenArt* newest = nullptr;
};

/// The blocks of a tree, as free_all gives them back.
struct Blocks {
  std::vector<Block> leaves, nodes;

  static u64 placed(u64 bytes) { return bytes | kFarBlock; }
  void free(void* start, u64 bytes) {
    ((bytes & kFarBlock) != 0 ? leaves : nodes).push_back({start, bytes & ~kFarBlock});
  }
};

u64 as_raw(const std::string& key, std::type_identity<u64>) {
  u64 number = 0;
  for (const char c : key) number = number << 8 | static_cast<u8>(c);
  return number;
}
std::string_view as_raw(const std::string& key, std::type_identity<std::string_view>) { return key; }

std::shared_ptr<MemoryConfig> far_memory(u64 limit) {
  return std::make_shared<MemoryConfig>(MemoryConfig{.alloc = Alloc::kArena, .limit = limit});
}

/// A tree of one of the policies, whose leaves are far.
template <class PolicyType, class KeyType>
class FarLeaves {
 public:
  using Policy = PolicyType;
  using Key = KeyType;
  using Map = Synchronized<SeenArt, Policy, Key>;
  using Raw = typename Map::Raw;

  explicit FarLeaves(Alloc near = Alloc::kArena, u64 far_bytes = 64 * kMiB, FailurePlan* plan = nullptr)
      : map_(Spec::parse(Policy::kName), config(near, far_bytes, plan)), tree_(Map::Body::newest) {}

  Map& map() { return map_; }
  Footprint far() const { return map_.memory().leaves()->bytes(); }

  Blocks blocks() {
    Blocks all;
    tree_->free_all(all);
    return all;
  }
  /// Requires that leaves, and only they, lie in far memory. No thread may be joined.
  void check_places(bool near_has_chunks = true) {
    const Blocks all = blocks();
    u64 wrong = 0, near_leaves = 0, leaf_bytes = 0;
    for (const Block& leaf : all.leaves) {
      wrong += !lies_in(map_.memory().leaves()->chunks(), leaf);
      near_leaves += lies_in(map_.chunks(), leaf);
      leaf_bytes += pooled(leaf.bytes);
    }
    for (const Block& node : all.nodes) {
      wrong += lies_in(map_.memory().leaves()->chunks(), node);
      wrong += near_has_chunks && !lies_in(map_.chunks(), node);
    }
    CHECK(wrong == 0);
    CHECK(near_leaves == 0);
    CHECK(far().live == leaf_bytes);
  }

 private:
  static MemoryConfig config(Alloc alloc, u64 far_bytes, FailurePlan* plan) {
    MemoryConfig near{.alloc = alloc, .fail = plan};
    const auto far = far_memory(far_bytes);
    far->fail = plan;
    near.far_leaves = far;
    return near;
  }
  static bool lies_in(const std::vector<ChunkSource::Chunk>& chunks, const Block& block) {
    return std::ranges::any_of(chunks, [&](const ChunkSource::Chunk& chunk) {
      const u64 offset = reinterpret_cast<u64>(block.start) - reinterpret_cast<u64>(chunk.start);
      return offset < chunk.bytes;
    });
  }
  /// Returns the bytes that a pool counts for a block.
  static u64 pooled(u64 bytes) {
    if (bytes <= kLineBytes) return (bytes + 15) / 16 * 16;
    if (bytes <= Pool<Native>::kLargestFitted) return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
    u64 power = Pool<Native>::kLargestFitted;
    while (2 * power < bytes) power *= 2;
    return (bytes + power / 4 - 1) / (power / 4) * (power / 4);
  }

  Map map_;
  typename Map::Body* const tree_;
};

TEMPLATE_TEST_CASE("Far leaves: they lie in far memory, and inner nodes in near memory", "",
                   (FarLeaves<None<Native>, U64Key>), (FarLeaves<Olc<Native>, U64Key>),
                   (FarLeaves<Rtm<Native>, U64Key>), (FarLeaves<Olc<Native>, BytesKey>),
                   (FarLeaves<Rtm<Emulated>, BytesKey>)) {
  using Raw = typename TestType::Raw;
  constexpr bool kNumbers = std::same_as<Raw, u64>;
  const Alloc near = GENERATE(Alloc::kArena, Alloc::kMalloc);
  for (const KeyPattern& pattern : kNumbers ? number_patterns(test_seed()) : string_patterns(test_seed())) {
    INFO(pattern.name);
    TestType tree(near);
    std::map<std::string, u64> right;
    const auto check = [&] {
      tree.check_places(near != Alloc::kMalloc);
      std::map<Raw, u64> expected, seen;
      for (const auto& [key, value] : right) expected.emplace(as_raw(key, std::type_identity<Raw>()), value);
      auto me = tree.map().join();
      u64 found = 0;
      for (const auto& [key, value] : expected) found += tree.map().find(me, key) == value;
      CHECK(found == expected.size());
    };
    {
      auto me = tree.map().join();
      Rng random(test_seed());
      for (u64 i = 0; i < 3 * pattern.keys.size(); ++i) {
        const std::string& key = pattern.keys[i < pattern.keys.size() ? i : random.below(pattern.keys.size())];
        const Raw raw = as_raw(key, std::type_identity<Raw>());
        if (i >= pattern.keys.size() && i % 3 != 0) {
          CHECK(tree.map().erase(me, raw) == (right.erase(key) != 0));
        } else {
          CHECK(tree.map().insert(me, raw, i) == right.emplace(key, i).second);
        }
      }
    }
    check();
    {
      auto me = tree.map().join();
      for (const auto& [key, value] : right) CHECK(tree.map().erase(me, as_raw(key, std::type_identity<Raw>())));
    }
    right.clear();
    check();
    CHECK(tree.far().live == 0);
  }
}

TEMPLATE_TEST_CASE("Far leaves: several threads make and free them", "", (FarLeaves<Olc<Native>, U64Key>),
                   (FarLeaves<Rtm<Native>, U64Key>), (FarLeaves<Rtm<Emulated>, U64Key>)) {
  TestType tree;
  std::vector<std::thread> threads;
  for (u64 i = 0; i < 3; ++i) {
    threads.emplace_back([&tree, i] {
      auto me = tree.map().join();
      Rng random(test_seed() + i);
      for (u32 step = 0; step < 20'000; ++step) {
        const u64 key = random.below(2000) * 0x1'0000'0001'0001;
        if (random.below(2) == 0) {
          (void)tree.map().insert(me, key, step);
        } else {
          (void)tree.map().erase(me, key);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  tree.map().join();  // frees what the last thread left
  tree.check_places();
}

TEST_CASE("Far leaves: an attempt in a transaction finds far memory ready") {
  FarLeaves<Rtm<Emulated>, U64Key> tree;
  auto me = tree.map().join();
  for (u64 i = 0; i < 50'000; ++i) REQUIRE(tree.map().insert(me, i * kGoldenFactor, i));
  CHECK(tree.far().live > 50'000 * 16);
  CHECK(me.counters.arena == 0);
  CHECK(me.counters.commits >= 50'000);
}

TEMPLATE_TEST_CASE("Far leaves: one thread's inserts take what another's erases have freed", "",
                   (FarLeaves<Olc<Native>, U64Key>), (FarLeaves<Rtm<Native>, U64Key>),
                   (FarLeaves<Rtm<Emulated>, U64Key>)) {
  TestType tree;
  auto inserter = tree.map().join();
  auto eraser = tree.map().join();
  for (u64 round = 0; round < 200; ++round) {
    for (u64 key = 0; key < 2000; ++key) REQUIRE(tree.map().insert(inserter, key * kGoldenFactor, key));
    for (u64 key = 0; key < 2000; ++key) REQUIRE(tree.map().erase(eraser, key * kGoldenFactor));
  }
  CHECK(tree.far().reserved < 4 * kMiB);
}

TEMPLATE_TEST_CASE("Far leaves: when far memory is out, an insert throws and changes nothing", "",
                   (FarLeaves<None<Native>, U64Key>), (FarLeaves<Olc<Native>, U64Key>),
                   (FarLeaves<Rtm<Native>, U64Key>), (FarLeaves<Rtm<Emulated>, U64Key>)) {
  TestType tree(Alloc::kArena, kMiB);
  auto me = tree.map().join();
  u64 keys = 0;
  const auto key_of = [](u64 i) { return i * kGoldenFactor; };
  try {
    for (; keys < 1'000'000; ++keys) (void)tree.map().insert(me, key_of(keys), keys);
  } catch (const std::bad_alloc&) {}
  CHECK(keys > 10'000);
  CHECK(keys < 100'000);
  CHECK(tree.far().reserved <= kMiB);
  CHECK_FALSE(tree.map().find(me, key_of(keys)));
  u64 found = 0;
  for (u64 i = 0; i < keys; ++i) found += tree.map().find(me, key_of(i)) == i;
  CHECK(found == keys);
  // A value of 8 bytes changes in its place, and so needs no memory.
  CHECK(tree.map().update(me, key_of(0), 7));
}

TEMPLATE_TEST_CASE("Far leaves: an operation whose n-th allocation fails, in either memory, changes nothing", "",
                   (FarLeaves<Olc<Native>, U64Key>), (FarLeaves<Rtm<Emulated>, U64Key>)) {
  FailurePlan plan;
  TestType tree(Alloc::kArena, 64 * kMiB, &plan);
  std::map<u64, u64> right;
  {
    auto me = tree.map().join();
    u64 failures = 0;
    const auto until_done = [&](auto&& operation) {
      for (u64 nth = 1;; ++nth) {
        plan.arm(nth, FailurePlan::Then::kForEver);
        try {
          const bool was_done = operation();
          plan.disarm();
          CHECK(was_done);
          return;
        } catch (const std::bad_alloc&) {
          ++failures;
        }
        plan.disarm();
        std::map<u64, u64> seen;
        tree.map().for_each(me, [&](u64 key, u64 value) { seen.emplace(key, value); });
        REQUIRE(seen == right);
      }
    };
    // A leaf grows and splits, and nodes of every kind come and go.
    std::vector<u64> keys;
    for (u64 i = 0; i < 6; ++i) keys.push_back(i << 8);
    for (u64 i = 1; i < 60; ++i) keys.push_back(i << 32);
    for (const u64 key : keys) {
      until_done([&] { return tree.map().insert(me, key, key); });
      right.emplace(key, key);
    }
    for (const u64 key : keys) {
      until_done([&] { return tree.map().erase(me, key); });
      right.erase(key);
    }
    CHECK(failures > 60);
  }
  tree.check_places();
  CHECK(tree.far().live == 0);
}

}  // namespace
}  // namespace latchlab::testing
