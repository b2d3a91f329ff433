// Tests of the B-skiplist by one thread, mostly with four keys a node and half of the keys of a level on the next, so
// that all paths run: its nodes after each operation, heights, scans, and the memory that is left.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "indexes/bskip/bskip.h"
#include "indexes/bskip/shape_test.h"
#include "indexes/compared_test.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/optiql.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

using NoneOfFour = SkipCase<Tiny<None<Native>>>;
using OlcOfFour = SkipCase<Tiny<Olc<Native>>>;
using OptiqlOfFour = SkipCase<Tiny<Optiql<Native>>>;

template <class Of>
void grow_and_shrink(const std::vector<u64>& keys) {
  Compared<Of> index;
  const u64 empty = index.index.bytes().live;
  for (const u64 key : keys) index.insert(key);
  CHECK(index.shape().top == 3);
  for (const u64 key : keys) {
    index.insert(key);
    index.upsert(key);
    index.update(key + 1);
    index.erase(key + 1);
    index.scan(key, 3);
  }
  index.scan(0, keys.size() + 1);
  for (const u64 key : keys) index.erase(key);
  const SkipShape shape = index.shape();
  for (u32 level = 0; level < 4; ++level) CHECK(shape.nodes[level] == 1);
  index.scan(0, 1);
  if (Of::Policy::kName == "none") CHECK(index.index.bytes().live == empty);
}

TEMPLATE_TEST_CASE("B-skiplist: nodes are sound after each operation, in four orders of keys", "[bskip]", NoneOfFour,
                   OlcOfFour, OptiqlOfFour) {
  std::vector<u64> keys = spread(300, ~u64{0} / 299);  // the first is 0, and the last all ones
  SECTION("ascending") { grow_and_shrink<TestType>(keys); }
  SECTION("descending") {
    std::reverse(keys.begin(), keys.end());
    grow_and_shrink<TestType>(keys);
  }
  SECTION("random") {
    Rng rng(test_seed());
    for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[rng.below(i)]);
    grow_and_shrink<TestType>(keys);
  }
  SECTION("from both ends") {
    for (std::size_t i = 0; i < keys.size() / 2; i += 2) std::swap(keys[i], keys[keys.size() - 1 - i]);
    grow_and_shrink<TestType>(keys);
  }
}

TEMPLATE_TEST_CASE("B-skiplist: nodes are sound after random operations on few keys", "[bskip]", NoneOfFour, OlcOfFour,
                   OptiqlOfFour, SkipCase<None<Native>>) {
  Compared<TestType> index;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && index.complaint.empty(); ++i) {
    // The share of erasures changes, so the index grows and shrinks.
    const u64 key = rng.below(2) == 0 ? rng.below(200) : ~u64{0} - rng.below(200);
    index.random_operation(rng, key, i / 1000 % 2 == 0 ? 2 : 6);
  }
}

TEMPLATE_TEST_CASE("B-skiplist: nodes are sound after random operations on strings, which leave no memory", "[bskip]",
                   NoneOfFour, OlcOfFour, OptiqlOfFour, SkipCase<None<Native>>) {
  Compared<TestType, std::string> index;
  const u64 empty = index.index.bytes().live;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && index.complaint.empty(); ++i)
    index.random_operation(rng, few_strings(rng), i / 1000 % 2 == 0 ? 2 : 6);
  while (!index.model.empty()) index.erase(std::string(index.model.begin()->first));
  CHECK(index.shape().nodes[0] == 1);
  if (TestType::Policy::kName == "none") CHECK(index.index.bytes().live == empty);
}

/// Returns the first `count` numbers from `from` on whose keys have this height in a layout.
template <class Layout>
std::vector<u64> of_height(u32 height, u32 count, u64 from = 0) {
  std::vector<u64> keys;
  for (u64 key = from; keys.size() < count; ++key) {
    if (bskip::Levels<Layout>::height(btree::Forms<U64Key>::sought(U64Key(key))) == height) keys.push_back(key);
  }
  return keys;
}

TEST_CASE("B-skiplist: a tall key that is less than all others takes a first leaf with all it may hold", "[bskip]") {
  using Layout = NoneOfFour::Policy::Layout;
  const u64 tall = of_height<Layout>(1, 1)[0];
  Compared<NoneOfFour> index;
  for (const u64 key : of_height<Layout>(0, 3, tall + 1)) index.insert(key);
  CHECK(index.shape().nodes[0] == 1);
  index.insert(tall);
  CHECK(index.shape().nodes[0] == 2);
}

TEST_CASE("B-skiplist: a node that becomes sparse takes over the next one, if no level above leads there", "[bskip]") {
  // Erases keys that leave the first node of a level with one key, and returns the number of nodes before and after.
  const auto nodes_around = [](u32 level, const std::vector<u64>& keys, u32 erased) {
    Compared<NoneOfFour> index;
    for (const u64 key : keys) index.insert(key);
    const u32 before = index.shape().nodes[level];
    for (u32 i = 0; i < erased; ++i) index.erase(keys[i]);
    return std::pair(before, index.shape().nodes[level]);
  };
  // The heights are those that the race finder's programs rely on.
  CHECK(nodes_around(0, {14, 15, 16, 17, 20}, 1) == std::pair(2u, 2u));  // two keys are left
  CHECK(nodes_around(0, {14, 15, 16, 17, 20}, 2) == std::pair(2u, 1u));
  CHECK(nodes_around(0, {14, 15, 16, 18, 20}, 2) == std::pair(2u, 2u));  // 18 is on level 1
  CHECK(nodes_around(1, {18, 21, 26, 27, 33, 34}, 3) == std::pair(2u, 2u));
  CHECK(nodes_around(1, {18, 21, 26, 27, 33, 34}, 4) == std::pair(2u, 1u));
}

TEST_CASE("B-skiplist: keys of the greatest height are on all levels, and leave them", "[bskip]") {
  const auto run = [](auto& index, const std::vector<u64>& keys, u32 levels) {
    for (const u64 key : keys) index.insert(key);
    SkipShape shape = index.shape();
    CHECK(shape.top == levels - 1);
    for (u32 level = 0; level + 1 < levels; ++level) CHECK(shape.nodes[level] == keys.size() + 1);
    CHECK(shape.nodes[levels - 1] > 1);
    index.scan(0, keys.size());
    for (const u64 key : keys) index.erase(key);
    shape = index.shape();
    for (u32 level = 0; level < levels; ++level) CHECK(shape.nodes[level] == 1);
  };
  // The words whose hashes are multiples of a large power of two.
  std::vector<u64> highest;
  for (u64 i = 1; i <= 60; ++i) highest.push_back(unmix64(i << 21) ^ btree::kSign);
  Compared<SkipCase<None<Native>>> none;
  run(none, highest, 8);
  Compared<SkipCase<Olc<Native>>> olc;
  run(olc, highest, 8);
  Compared<OlcOfFour> tiny;
  run(tiny, highest, 4);
}

TEST_CASE("B-skiplist: the keys of the race finder's programs have the heights that they name", "[bskip]") {
  using Layout = NoneOfFour::Policy::Layout;
  const std::vector<std::vector<u64>> named{
      {14, 15, 16, 17, 20, 22, 24, 28, 29, 30, ~u64{0}}, {18, 21, 26, 27, 33, 34, 36}, {19, 23}, {12, 25}};
  for (u32 height = 0; height < named.size(); ++height) {
    for (const u64 key : named[height])
      CHECK(bskip::Levels<Layout>::height(btree::Forms<U64Key>::sought(U64Key(key))) == height);
  }
}

TEST_CASE("B-skiplist: one key in eight of a level is on the next one", "[bskip]") {
  using Levels = bskip::Levels<None<Native>::Layout>;
  std::array<u32, 8> least{};  // keys of at least this height
  constexpr u32 kKeys = 1 << 16;
  const auto count = [&](u32 height) {
    for (u32 level = 0; level <= height; ++level) ++least[level];
  };
  SECTION("numbers") {
    for (u64 key = 0; key < kKeys; ++key) count(Levels::height(btree::Forms<U64Key>::sought(U64Key(key))));
  }
  SECTION("strings") {
    for (u32 i = 0; i < kKeys; ++i) {
      const std::string raw = "key " + std::to_string(i);
      const BytesKey::Spelling spelling(raw);
      count(Levels::height(btree::Forms<BytesKey>::sought(spelling.key())));
    }
  }
  CHECK(least[0] == kKeys);
  CHECK(least[1] > kKeys / 9);
  CHECK(least[1] < kKeys / 7);
  CHECK(least[2] > kKeys / 8 / 10);
  CHECK(least[2] < kKeys / 8 / 6);
}

TEST_CASE("B-skiplist: all keys need few nodes, in each order of inserts", "[bskip]") {
  constexpr u32 kKeys = 100'000;
  Synchronized<SkipCase<None<Native>>::Tree, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const u32 order = GENERATE(0, 1, 2);
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, order == 0 ? i : order == 1 ? kKeys - i : mix64(i), i);
  const SkipShape shape = SkipCase<None<Native>>::shape<U64Key>();
  CHECK(shape.complaint == "");
  CHECK(shape.pairs == kKeys);
  CHECK(shape.top >= 4);
  CHECK(shape.nodes[0] < kKeys / 5);
  if (order == 0) CHECK(shape.nodes[0] < 15'000);  // 14,784 with full leaves, and 15,686 with half full ones
  CHECK(shape.nodes[1] < shape.nodes[0] / 5);
}

TEST_CASE("B-skiplist: erasures give nodes back before the last key goes", "[bskip]") {
  constexpr u32 kKeys = 20'000;
  Synchronized<SkipCase<None<Native>>::Tree, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, i, i);
  const u32 full = SkipCase<None<Native>>::shape<U64Key>().nodes[0];
  for (u64 i = 0; i < kKeys; ++i) {
    if (i % 32 != 0) index.erase(me, i);
  }
  const SkipShape shape = SkipCase<None<Native>>::shape<U64Key>();
  CHECK(shape.complaint == "");
  CHECK(shape.pairs == kKeys / 32);
  CHECK(shape.nodes[0] < full / 8);
}

}  // namespace
}  // namespace latchlab::testing
