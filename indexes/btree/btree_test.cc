// Tests of the B+-tree by one thread, with four keys a node, so that all paths run: its nodes after each operation, the
// order of a leaf, scans, and the memory that is left.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "indexes/btree/btree.h"
#include "indexes/btree/shape_test.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/synchronized.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

/// A tree beside a map, with which it must agree after each operation. RawKey is u64 or std::string.
template <class Policy, class RawKey = u64>
class Compared {
 public:
  using Key = std::conditional_t<std::is_same_v<RawKey, u64>, U64Key, BytesKey>;
  using Index = Synchronized<SeenBTree, Policy, Key>;

  ~Compared() { CHECK(complaint == ""); }
  void insert(const RawKey& key) {
    ++value_;
    answer("insert", key, index.insert(me, key, value_), model.emplace(key, value_).second);
  }
  void upsert(const RawKey& key) {
    ++value_;
    answer("upsert", key, index.upsert(me, key, value_), model.insert_or_assign(key, value_).second);
  }
  void update(const RawKey& key) {
    const auto at = model.find(key);
    if (at != model.end()) at->second = value_ + 1;
    answer("update", key, index.update(me, key, ++value_), at != model.end());
  }
  void erase(const RawKey& key) { answer("erase", key, index.erase(me, key), model.erase(key) != 0); }
  void find(const RawKey& key) {
    const auto at = model.find(key);
    const std::optional<u64> found = index.find(me, key);
    if (found != (at == model.end() ? std::nullopt : std::optional(at->second))) complain("find", key);
  }
  void scan(const RawKey& from, std::size_t limit) {
    auto at = model.lower_bound(from);
    const std::size_t seen = index.scan(me, from, limit, [&](typename Key::Raw key, u64 value) {
      if (at == model.end() || at->first != key || at->second != value) return complain("scan", RawKey(key));
      ++at;
    });
    if (seen != limit && at != model.end()) complain("scan", from);
  }
  /// Runs a random operation, an erasure in `erasures` of ten times.
  void random_operation(Rng& rng, const RawKey& key, u64 erasures) {
    const u64 chance = rng.below(10);
    if (chance < erasures) {
      erase(key);
    } else if (chance == 7) {
      scan(key, 1 + rng.below(100));
    } else if (chance == 8) {
      update(key);
    } else if (chance == 9) {
      upsert(key);
    } else {
      insert(key);
    }
  }
  Shape shape() const { return shape_of<Policy, Key>(); }

  Index index{Spec::parse(Policy::kName), MemoryConfig{}};
  typename Index::ThreadState me = index.join();
  std::map<RawKey, u64> model;
  std::string complaint;

 private:
  void answer(const char* operation, const RawKey& key, bool got, bool wanted) {
    if (got != wanted) complain(operation, key);
    find(key);
    const Shape now = shape();
    if (!now.complaint.empty()) complain((std::string(operation) + ", " + now.complaint).c_str(), key);
    if (now.pairs != model.size()) complain("the number of pairs", key);
  }
  void complain(const char* what, const RawKey& key) {
    if (!complaint.empty()) return;
    if constexpr (std::is_same_v<RawKey, u64>) {
      complaint = std::string(what) + ": " + std::to_string(key);
    } else {
      complaint = std::string(what) + ": '" + key + "'";
    }
  }
  u64 value_ = 0;
};

template <class Policy>
void grow_and_shrink(const std::vector<u64>& keys) {
  Compared<Policy> tree;
  const u64 empty = tree.index.bytes().live;
  for (const u64 key : keys) tree.insert(key);
  CHECK(tree.shape().height > 0);
  for (const u64 key : keys) {
    tree.insert(key);
    tree.upsert(key);
    tree.update(key + 1);
    tree.erase(key + 1);
    tree.scan(key, 3);
  }
  tree.scan(0, keys.size() + 1);
  for (const u64 key : keys) tree.erase(key);
  CHECK(tree.shape().height == 0);
  CHECK(tree.shape().leaves == 1);
  tree.scan(0, 1);
  if (Policy::kName == "none") CHECK(tree.index.bytes().live == empty);
}

std::vector<u64> spread(u32 count, u64 step) {
  std::vector<u64> keys;
  for (u64 i = 0; i < count; ++i) keys.push_back(i * step);
  return keys;
}

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after each operation, in four orders of keys", "[btree]",
                   Tiny<None<Native>>, Tiny<Olc<Native>>) {
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

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after random operations on few keys", "[btree]", Tiny<None<Native>>,
                   Tiny<Olc<Native>>, None<Native>) {
  Compared<TestType> tree;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && tree.complaint.empty(); ++i) {
    // The share of erasures changes, so the tree grows and shrinks.
    const u64 key = rng.below(2) == 0 ? rng.below(200) : ~u64{0} - rng.below(200);
    tree.random_operation(rng, key, i / 1000 % 2 == 0 ? 2 : 6);
  }
}

/// Returns a string of which many have the same first eight bytes, or are beginnings of others.
std::string few_strings(Rng& rng) {
  static const std::string parts[] = {
      "", std::string("\0", 1), "\1", "a", "b", "\xff", "abcdefgh", "abcdefghabcd", "\xff\xff\xff\xff\xff\xff\xff\xff"};
  std::string key;
  for (u64 i = rng.below(4); i > 0; --i) key += parts[rng.below(std::size(parts))];
  return key;
}

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after random operations on strings, which leave no memory", "[btree]",
                   Tiny<None<Native>>, Tiny<Olc<Native>>, None<Native>) {
  Compared<TestType, std::string> tree;
  const u64 empty = tree.index.bytes().live;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && tree.complaint.empty(); ++i)
    tree.random_operation(rng, few_strings(rng), i / 1000 % 2 == 0 ? 2 : 6);
  while (!tree.model.empty()) tree.erase(std::string(tree.model.begin()->first));
  CHECK(tree.shape().leaves == 1);
  if (TestType::kName == "none") CHECK(tree.index.bytes().live == empty);
}

TEST_CASE("B+-tree: ascending keys leave full nodes, and other keys at least half full ones", "[btree]") {
  constexpr u32 kMost = btree::Order::kMost, kKeys = 200 * kMost;
  Synchronized<SeenBTree, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const bool ascending = GENERATE(true, false);
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, ascending ? i : kKeys - i, i);
  const Shape shape = shape_of<None<Native>, U64Key>();
  CHECK(shape.complaint == "");
  CHECK(shape.pairs == kKeys);
  CHECK(shape.leaves <= (ascending ? 200 : 400));
}

TEST_CASE("B+-tree: a leaf's order is a permutation that follows inserts and removals", "[btree]") {
  using btree::Order;
  Rng rng(test_seed());
  Order order;
  std::vector<u32> places;
  for (u32 i = 0; i < 5000; ++i) {
    if (places.size() < Order::kMost && (places.empty() || rng.below(2) == 0)) {
      const u32 rank = static_cast<u32>(rng.below(places.size() + 1)), place = order.free_place();
      REQUIRE(std::find(places.begin(), places.end(), place) == places.end());
      places.insert(places.begin() + rank, place);
      order = order.inserted(rank);
    } else {
      const u32 rank = static_cast<u32>(rng.below(places.size()));
      const u32 place = places[rank];
      places.erase(places.begin() + rank);
      order = order.removed(rank);
      if (places.size() < Order::kMost) REQUIRE(order.free_place() == place);
    }
    REQUIRE(order.entries() == places.size());
    for (u32 rank = 0; rank < places.size(); ++rank) REQUIRE(order.place(rank) == places[rank]);
    std::vector<u32> all;
    for (u32 rank = 0; rank < Order::kMost; ++rank) all.push_back(order.place(rank));
    std::sort(all.begin(), all.end());
    for (u32 rank = 0; rank < Order::kMost; ++rank) REQUIRE(all[rank] == rank);
  }
}

}  // namespace
}  // namespace latchlab::testing
