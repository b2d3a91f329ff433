// Tests of walks: they visit every pair of a quiet index once, in steps of any size, and go on beside changes between
// their steps. The race finder runs them beside changes inside steps (src/testing/race_program.h).
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/chained/chained_line.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/growing/hand.h"
#include "indexes/kvdirect/kvdirect.h"
#include "indexes/memc3/memc3.h"
#include "indexes/peers/std_map.h"
#include "indexes/peers/std_unordered.h"
#include "indexes/vip/vip.h"
#include "src/base/error.h"
#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/spin.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

template <template <class, class> class Index, class Policy>
using Numbers = Synchronized<Index, Policy, U64Key>;
using Strings = Synchronized<Chained, Olc<Native>, BytesKey>;
using Hashed = ByHash<Numbers<Cuckoo, Olc<Native>>>;

u64 key_from(u64 number, const u64*) { return mix64(number); }
std::string key_from(u64 number, const std::string_view*) {
  return std::to_string(number) + std::string(number % 50, 0);
}

/// An index whose keys are numbered.
template <class Index>
struct Numbered {
  using Raw = typename Index::Raw;

  Numbered() = default;
  auto key(u64 number) const { return key_from(number, static_cast<const Raw*>(nullptr)); }
  bool insert(u64 number) { return index.insert(me, key(number), number); }
  /// Takes one step, and counts the visits of each number.
  bool step(typename Index::Walk& walk, std::size_t most, std::map<u64, u32>& visits) {
    return index.walk_on(me, walk, most, [&](const Raw& raw, u64 number) {
      CHECK(raw == Raw(key(number)));
      ++visits[number];
    });
  }

  Index index{Spec::parse(Index::Policy::kName), MemoryConfig{}};
  typename Index::ThreadState me = index.join();
};

using Walking =
    std::tuple<Numbers<Art, Olc<Native>>, Numbers<Art, Rowex<Native>>, Numbers<Cuckoo, Olc<Native>>,
               Numbers<Cuckoo3, None<Native>>, Numbers<Cuckoo7, Striped<Native>>, Numbers<Chained, Olc<Native>>,
               Numbers<Chained, Rowex<Native>>, Numbers<ChainedLine, Olc<Native>>, Numbers<Vip, Olc<Native>>,
               Numbers<MemC3, Olc<Native>>, Numbers<MemC3, Striped<Native>>, Numbers<KvDirect, Striped<Native>>,
               ByHash<Numbers<MemC3, Spin<Native>>>, Numbers<StdMap, Spin<Native>>, Strings, Hashed>;

TEMPLATE_LIST_TEST_CASE("A walk over a quiet index visits each pair once, in steps of any size", "", Walking) {
  STATIC_REQUIRE(TestType::kWalksBesideWriters);
  Numbered<TestType> table;
  typename TestType::Walk walk;
  std::map<u64, u32> visits;
  CHECK(walk.at_start());
  while (table.step(walk, 1, visits)) {}
  CHECK(visits.empty());
  for (u64 number = 0; number < 5000; ++number) REQUIRE(table.insert(number));
  for (const std::size_t most : {1, 7, 64, 1000}) {
    visits.clear();
    u64 steps = 1;
    CHECK(walk.at_start());
    for (; table.step(walk, most, visits); ++steps) CHECK_FALSE(walk.at_start());
    CHECK(walk.at_start());
    CHECK(visits.size() == 5000);
    CHECK(std::ranges::all_of(visits, [](const auto& one) { return one.second == 1; }));
    CHECK(steps >= 5000 / (most + 300));  // a step ends, at the latest, after a few dozen buckets
  }
  visits.clear();
  table.index.for_each(table.me, [&](const auto&, u64 number) { ++visits[number]; });
  CHECK(visits.size() == 5000);
}

TEMPLATE_LIST_TEST_CASE("A walk visits each key that stays once, while the index grows by three doublings", "",
                        Walking) {
  Numbered<TestType> table;
  for (u64 number = 0; number < 500; ++number) table.insert(number);
  typename TestType::Walk walk;
  std::map<u64, u32> visits;
  u64 next = 500;
  while (table.step(walk, 2, visits)) {
    for (u32 i = 0; i < 20 && next < 5000; ++i, ++next) table.insert(next);
    if (next % 3 == 0) table.index.erase(table.me, table.key(next - 7));
  }
  CHECK(next == 5000);
  for (u64 number = 0; number < 500; ++number) {
    INFO(number);
    CHECK(visits[number] == 1);
  }
}

TEST_CASE("The hand of a walk passes each hash once, and the halves of a bucket one after the other") {
  using growing::Hand;
  CHECK_FALSE(Hand().begun());
  // First bits 2; the buckets have 2, 3, 4, 4 and 2 bits, and the last two share a bucket with one bit.
  std::vector<u64> hashes;
  for (Hand hand(0, 2); hand.begun();) {
    hashes.push_back(hand.hash());
    const u64 hash = hand.hash();
    CHECK(hand.covers(hash));
    CHECK_FALSE(hand.covers(hash + 1));
    hand = hand.behind(hash % 4 == 0 ? 2 : hash % 8 == 1 ? 3 : hash % 8 == 5 ? 4 : 1);
  }
  CHECK(hashes == std::vector<u64>{0, 1, 5, 13, 2, 3});
}

TEST_CASE("A walk over a cuckoo table that is full, and whose keys move, visits each key that stays once") {
  const u64 slots = GENERATE(64, 4096, 1 << 19);  // small buckets, and large ones
  Synchronized<Cuckoo, Olc<Native>, U64Key> index(Spec::parse("olc"), MemoryConfig{},
                                                  Spec::parse("cuckoo:most_slots=" + std::to_string(slots)));
  auto me = index.join();
  std::vector<u64> keys;
  Rng rng(test_seed());
  const auto fill = [&] {
    for (u32 failures = 0; failures < 3;) {
      const u64 key = rng();
      try {
        if (index.insert(me, key, ~key)) keys.push_back(key);
      } catch (const IndexFull&) {
        ++failures;
      }
    }
  };
  fill();
  const std::vector<u64> first = keys;
  CHECK(first.size() > slots / 2);
  std::map<u64, u32> visits;
  typename decltype(index)::Walk walk;
  const auto step = [&] {
    return index.walk_on(me, walk, 1, [&](u64 key, u64 value) {
      CHECK(value == ~key);
      ++visits[key];
    });
  };
  while (step()) {}
  CHECK(visits.size() == first.size());
  CHECK(std::ranges::all_of(visits, [](const auto& one) { return one.second == 1; }));
  if (slots > 4096) return;
  // Now a tenth of the keys goes, a few at a time, and others come, which moves those that stay.
  visits.clear();
  std::size_t gone = 0;
  do {
    if (gone < first.size() / 10) index.erase(me, first[gone++]);
    fill();
  } while (step());
  for (std::size_t i = gone; i < first.size(); ++i) CHECK(visits[first[i]] == 1);
}

TEST_CASE("A step of a walk gets more room if one chain needs it") {
  Numbered<Numbers<Chained, Olc<Native>>> table;
  u64 count = 0;
  for (u64 number = 0; count < 400; ++number) {
    if (chained::hash_of(U64Key(table.key(number))) % 1024 == 5) count += table.insert(number);
  }
  Numbers<Chained, Olc<Native>>::Walk walk;
  std::map<u64, u32> visits;
  while (table.step(walk, 1, visits)) {}
  CHECK(visits.size() == 400);

  Strings strings(Spec::parse("olc"), MemoryConfig{});
  auto me = strings.join();
  const std::string key(100'000, 'x');
  strings.insert(me, key, 1);
  strings.insert(me, std::string(3, '\0'), 2);
  std::map<std::string, u64> seen;
  strings.for_each(me, [&](std::string_view raw, u64 value) { seen.emplace(raw, value); });
  CHECK(seen == std::map<std::string, u64>{{key, 1}, {std::string(3, '\0'), 2}});
}

TEST_CASE("A visitor of a walk may change the index, with the state of its thread") {
  Numbered<Numbers<Cuckoo, Olc<Native>>> numbers;
  Numbered<Hashed> strings;
  for (u64 number = 0; number < 1000; ++number) CHECK((numbers.insert(number) && strings.insert(number)));
  numbers.index.for_each(numbers.me, [&](u64 key, u64) { CHECK(numbers.index.erase(numbers.me, key)); });
  strings.index.for_each(strings.me, [&](std::string_view key, u64) { CHECK(strings.index.erase(strings.me, key)); });
  u64 left = 0;
  numbers.index.for_each(numbers.me, [&](u64, u64) { ++left; });
  strings.index.for_each(strings.me, [&](std::string_view, u64) { ++left; });
  CHECK(left == 0);
}

TEST_CASE("An index of which the walk would miss keys has no walks") {
  STATIC_REQUIRE_FALSE(Numbers<StdUnordered, Spin<Native>>::kWalksBesideWriters);
}

}  // namespace
}  // namespace latchlab::testing
