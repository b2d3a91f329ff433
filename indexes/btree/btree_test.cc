// Tests of the B+-tree by one thread, with four keys a node, so that all paths run: its nodes after each operation, the
// orders of a leaf, searches, scans, and the memory that is left.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "indexes/btree/btree.h"
#include "indexes/btree/shape_test.h"
#include "indexes/compared_test.h"
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

// Four keys a node, searched as in small nodes and as in large ones.
using NoneOfFour = Case<Tiny<None<Native>>>;
using OlcOfFour = Case<Tiny<Olc<Native>>>;
using LargeNoneOfFour = Case<Tiny<None<Native>>, 4096>;
using LargeOlcOfFour = Case<Tiny<Olc<Native>>, 4096>;

template <class Of>
void grow_and_shrink(const std::vector<u64>& keys) {
  Compared<Of> tree;
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
  if (Of::Policy::kName == "none") CHECK(tree.index.bytes().live == empty);
}

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after each operation, in four orders of keys", "[btree]", NoneOfFour,
                   OlcOfFour, LargeNoneOfFour, LargeOlcOfFour) {
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

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after random operations on few keys", "[btree]", NoneOfFour, OlcOfFour,
                   Case<None<Native>>, LargeNoneOfFour, LargeOlcOfFour, (Case<None<Native>, 1024>),
                   (Case<None<Native>, 4096>)) {
  Compared<TestType> tree;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && tree.complaint.empty(); ++i) {
    // The share of erasures changes, so the tree grows and shrinks.
    const u64 key = rng.below(2) == 0 ? rng.below(200) : ~u64{0} - rng.below(200);
    tree.random_operation(rng, key, i / 1000 % 2 == 0 ? 2 : 6);
  }
}

TEMPLATE_TEST_CASE("B+-tree: nodes are sound after random operations on strings, which leave no memory", "[btree]",
                   NoneOfFour, OlcOfFour, Case<None<Native>>, LargeNoneOfFour, LargeOlcOfFour,
                   (Case<None<Native>, 1024>)) {
  Compared<TestType, std::string> tree;
  const u64 empty = tree.index.bytes().live;
  Rng rng(test_seed());
  for (u32 i = 0; i < 6000 && tree.complaint.empty(); ++i)
    tree.random_operation(rng, few_strings(rng), i / 1000 % 2 == 0 ? 2 : 6);
  while (!tree.model.empty()) tree.erase(std::string(tree.model.begin()->first));
  CHECK(tree.shape().leaves == 1);
  if (TestType::Policy::kName == "none") CHECK(tree.index.bytes().live == empty);
}

TEMPLATE_TEST_CASE("B+-tree: ascending keys leave full nodes, and other keys at least half full ones", "[btree]",
                   Case<None<Native>>, (Case<None<Native>, 1024>), (Case<None<Native>, 4096>)) {
  using Layout = btree::SizedLayout<None<Native>::Layout, TestType::kNodeBytes>;
  constexpr u32 kKeys = 200 * btree::Leaf<Layout, U64Key>::kMost;
  Synchronized<TestType::template Tree, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const bool ascending = GENERATE(true, false);
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, ascending ? i : kKeys - i, i);
  const Shape shape = TestType::template shape<U64Key>();
  CHECK(shape.complaint == "");
  CHECK(shape.pairs == kKeys);
  CHECK(shape.leaves <= (ascending ? 200 : 400));
}

/// Calls check(row, i, below) for rows of kMany numbers with every split between those below a bound and the others.
template <u32 kMany>
void search_rows() {
  for (u32 below = 0; below <= kMany; ++below) {
    std::vector<u32> asked;
    const u32 count = btree::count_before<kMany>([&](u32 i) {
      asked.push_back(i);
      return i < below;
    });
    REQUIRE(count == below);
    REQUIRE(*std::max_element(asked.begin(), asked.end()) < kMany);
  }
}

TEST_CASE("B+-tree: a binary search counts what comes before, and stays in the row whatever it reads", "[btree]") {
  search_rows<1>();
  search_rows<2>();
  search_rows<4>();
  search_rows<58>();
  search_rows<254>();
  Rng rng(test_seed());
  for (u32 turn = 0; turn < 1000; ++turn) {
    const u32 count = btree::count_before<58>([&](u32 i) {
      REQUIRE(i < 58);
      return rng.below(2) == 0;
    });
    REQUIRE(count <= 58);
  }
}

/// Returns the places that a visit of the marks comes to.
template <u32 kMost>
std::vector<u32> places_of(const btree::Marks<None<Native>::Layout, kMost>& marks, u8 mark) {
  std::vector<u32> places;
  marks.visit(mark, [&](u32 place) {
    places.push_back(place);
    return false;
  });
  return places;
}

TEMPLATE_TEST_CASE("B+-tree: a leaf's marks lead to all places with a mark, and to no others", "[btree]",
                   (std::integral_constant<u32, 4>), (std::integral_constant<u32, 54>),
                   (std::integral_constant<u32, 224>)) {
  constexpr u32 kMost = TestType::value;
  btree::Marks<None<Native>::Layout, kMost> marks;
  Rng rng(test_seed());
  std::vector<u32> places[3];
  for (u32 place = 0; place < kMost; ++place) {
    const u8 mark = static_cast<u8>(rng.below(3));
    marks.store(place, mark);
    REQUIRE(marks.load(place) == mark);
    places[mark].push_back(place);
  }
  for (u8 mark = 0; mark < 3; ++mark) CHECK(places_of(marks, mark) == places[mark]);
  CHECK(places_of(marks, 3).empty());
  u32 visits = 0;
  marks.visit(marks.load(kMost / 2), [&](u32) { return ++visits == 1; });
  CHECK(visits == 1);
}

template <class Order, u32 kMost>
void follow_changes() {
  Rng rng(test_seed());
  Order order;
  std::vector<u32> places;
  for (u32 i = 0; i < 5000; ++i) {
    const auto& now = order.read();
    if (places.size() < kMost && (places.empty() || rng.below(2) == 0)) {
      const u32 rank = static_cast<u32>(rng.below(places.size() + 1)), place = now.free_place();
      REQUIRE(std::find(places.begin(), places.end(), place) == places.end());
      places.insert(places.begin() + rank, place);
      order.insert(now, rank);
    } else if (rng.below(20) == 0) {
      const u32 stay = static_cast<u32>(rng.below(places.size() + 1));
      places.resize(stay);
      order.resize(now, stay);
    } else {
      const u32 rank = static_cast<u32>(rng.below(places.size()));
      const u32 place = places[rank];
      places.erase(places.begin() + rank);
      order.remove(now, rank);
      REQUIRE(order.read().free_place() == place);
    }
    const auto& then = order.read();
    REQUIRE(then.entries() == places.size());
    for (u32 rank = 0; rank < places.size(); ++rank) REQUIRE(then.place(rank) == places[rank]);
    std::vector<u32> all;
    for (u32 rank = 0; rank < kMost; ++rank) all.push_back(then.place(rank));
    std::sort(all.begin(), all.end());
    for (u32 rank = 0; rank < kMost; ++rank) REQUIRE(all[rank] == rank);
  }
}

TEST_CASE("B+-tree: a leaf's order is a permutation that follows inserts and removals", "[btree]") {
  using Layout = None<Native>::Layout;
  SECTION("one word") { follow_changes<btree::WordOrder<Layout>, btree::Order::kMost>(); }
  SECTION("a row of four bytes") { follow_changes<btree::RowOrder<Layout, 4>, 4>(); }
  SECTION("a row of 240 bytes") { follow_changes<btree::RowOrder<Layout, 240>, 240>(); }
}

}  // namespace
}  // namespace latchlab::testing
