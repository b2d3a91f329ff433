// Tests of the map's operations by one thread: every kind of key and of value, and where f throws.
#include "library/map.h"

#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/chained/chained_line.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/memc3/memc3.h"
#include "indexes/simdht/simdht.h"
#include "indexes/vip/vip.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "sync/hybrid.h"
#include "sync/mutex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"

namespace latchlab {
namespace {

/// A name for cuckoo under a hash with three values, so that many keys collide.
template <class Layout, class Key>
struct CollidingCuckoo;
struct ThreeHashes {
  static u64 of(std::string_view key) { return key.size() % 3; }
};

}  // namespace

template <class Policy>
struct library::PairsOf<CollidingCuckoo, Policy, BytesKey> {
  using Type = ByHash<Synchronized<Cuckoo, Policy, U64Key>, ThreeHashes>;
};

namespace {

template <class M, class... Bounds>
std::vector<std::pair<typename M::KeyView, typename M::Value>> pairs_of(const M& map, const Bounds&... bounds) {
  std::vector<std::pair<typename M::KeyView, typename M::Value>> pairs;
  map.range(bounds..., [&](auto key, const auto& value) { pairs.emplace_back(key, value); });
  return pairs;
}

/// Returns the keys that for_each visits, as strings.
template <class M>
std::vector<std::string> strings_of(const M& map) {
  std::vector<std::string> keys;
  map.for_each(
      [&](auto key, const auto&) { keys.emplace_back(reinterpret_cast<const char*>(key.data()), key.size()); });
  return keys;
}

TEST_CASE("A map inserts, updates, upserts, finds and erases") {
  Map<u64, u64> map;
  CHECK(map.find(1) == std::nullopt);
  CHECK(map.insert(1, 10));
  CHECK_FALSE(map.insert(1, 11));
  CHECK(map.find(1) == 10u);
  CHECK(map.update(1, 12));
  CHECK_FALSE(map.update(2, 20));
  CHECK_FALSE(map.contains(2));
  CHECK(map.upsert(2, 21));
  CHECK_FALSE(map.upsert(2, 22));
  CHECK(map.contains(2));
  CHECK(map.size() == 2);
  u64 seen = 0;
  CHECK(map.visit(2, [&](u64 value) { seen = value; }));
  CHECK_FALSE(map.visit(3, [&](u64) { seen = 0; }));
  CHECK(seen == 22);
  CHECK(map.erase(1));
  CHECK_FALSE(map.erase(1));
  CHECK(map.size() == 1);
  CHECK(map.bytes().live > 0);
}

TEMPLATE_TEST_CASE("Integer keys keep the order of numbers", "", u32, u64, i64, int, short, unsigned char) {
  using Limits = std::numeric_limits<TestType>;
  Map<TestType, int> map;
  const std::array<TestType, 6> keys{Limits::max(), 0, 1, Limits::min(), 100, static_cast<TestType>(-1)};
  std::map<TestType, int> expected;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK(map.insert(keys[i], static_cast<int>(i)) == expected.emplace(keys[i], i).second);
  }
  const std::vector<std::pair<TestType, int>> sorted(expected.begin(), expected.end());
  CHECK(pairs_of(map, Limits::min()) == sorted);
  CHECK(pairs_of(map, TestType{0}, TestType{100}) ==
        std::vector<std::pair<TestType, int>>(expected.find(0), expected.find(100)));
  std::size_t visited = 0;
  map.for_each([&](TestType key, int value) { visited += expected.at(key) == value; });
  CHECK(visited == expected.size());
}

TEST_CASE("Keys of bytes are ordered as by memcmp, and hold any byte") {
  const std::vector<std::string> sorted{"", std::string(1, '\0'), std::string("\0\1", 2), "\1", "a", "ab", "b", "\xff"};
  Map<std::string, u32> strings;
  Map<std::string_view, u32> views;
  Map<std::span<const std::byte>, u32> spans;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& key = sorted[(i * 3) % sorted.size()];
    const auto bytes = std::as_bytes(std::span(key));
    CHECK((strings.insert(key, 1) && views.insert(key, 2) && spans.insert(bytes, 3)));
    CHECK((strings.find(key) == 1u && views.find(key) == 2u && spans.find(bytes) == 3u));
  }
  CHECK(strings_of(strings) == sorted);
  CHECK(strings_of(views) == sorted);
  CHECK(strings_of(spans) == sorted);
  std::vector<std::string> some;
  strings.range("\1", "b", [&](std::string_view key, u32) { some.emplace_back(key); });
  CHECK(some == std::vector<std::string>{"\1", "a", "ab"});
}

struct Point {
  int x;
  short y;
  friend bool operator==(const Point&, const Point&) = default;
};
enum class Colour : u8 { kRed, kGreen };
struct NotMadeFromNothing {
  explicit NotMadeFromNothing(int n) : number(n) {}
  int number;
};

TEST_CASE("A trivially copyable value of up to eight bytes comes back as it was") {
  const auto back = [](auto value) {
    Map<int, decltype(value)> map;
    map.insert(1, value);
    return *map.find(1);
  };
  static const int target = 5;
  CHECK(back(-1.5f) == -1.5f);
  CHECK(back(1e300) == 1e300);
  CHECK(back(true));
  CHECK(back(i64{-2}) == -2);
  CHECK(back(&target) == &target);
  CHECK(back(Colour::kGreen) == Colour::kGreen);
  CHECK(back(Point{-3, 4}) == Point{-3, 4});
  CHECK(back(NotMadeFromNothing(6)).number == 6);
}

TEST_CASE("A batch finds what single lookups find, across attempts") {
  Map<u64, u64> wide;
  Map<int, float> narrow;
  Map<std::string, u64, Chained> table;
  for (int i = 0; i < 400; i += 2) {
    wide.insert(static_cast<u64>(i), static_cast<u64>(3 * i));
    narrow.insert(i, static_cast<float>(i) / 2);
    table.insert(std::to_string(i), static_cast<u64>(i));
  }
  for (const std::size_t count : {0, 1, 64, 65, 300}) {
    std::vector<u64> numbers(count);
    std::vector<int> ints(count);
    std::vector<std::string> texts(count);
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = i, ints[i] = static_cast<int>(i), texts[i] = std::to_string(i);
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<std::optional<u64>> a(count), c(count);
    std::vector<std::optional<float>> b(count);
    wide.find_batch(numbers, a);
    narrow.find_batch(ints, b);
    table.find_batch(views, c);
    bool same = true;
    for (std::size_t i = 0; i < count; ++i) {
      same = same && a[i] == wide.find(i) && b[i] == narrow.find(static_cast<int>(i)) && c[i] == table.find(texts[i]);
    }
    CHECK(same);
  }
}

TEST_CASE("A range ends at its bound, or when f says so, after any number of pairs") {
  Map<u32, u32> map;
  for (u32 i = 0; i < 300; ++i) map.insert(2 * i, i);
  // The steps of a range have 16 pairs, then 64, of which one is known from the step before.
  for (const u32 count : {0u, 1u, 15u, 16u, 17u, 78u, 79u, 80u, 81u, 143u, 299u, 300u}) {
    const auto pairs = pairs_of(map, 0u, 2 * count);
    CHECK(pairs.size() == count);
    bool right = true;
    for (u32 i = 0; i < pairs.size(); ++i) right = right && pairs[i] == std::pair(2 * i, i);
    CHECK(right);
    u32 seen = 0;
    map.range(0, [&](u32 key, u32) { return seen += key == 2 * seen, seen < count; });
    CHECK(seen == std::max(count, 1u));
  }
  CHECK(pairs_of(map, 5u, 5u).empty());
  CHECK(pairs_of(map, 9u, 5u).empty());
  CHECK(pairs_of(map, 600u).empty());
}

TEST_CASE("The f of a range may use the map, and throw") {
  Map<std::string, int> map;
  const auto name = [](int i) { return std::to_string(1000 + i); };
  for (int i = 0; i < 200; ++i) map.insert(name(i), i);
  int seen = 0;
  map.range(name(50), name(150), [&](std::string_view key, int value) {
    seen += value == 50 + seen && map.find(key) == value && map.erase(key) && map.insert(name(value - 50) + "+", 0);
  });
  CHECK(seen == 100);
  CHECK(map.size() == 200);
  CHECK(map.contains(name(49)));
  CHECK_FALSE(map.contains(name(50)));
  CHECK(map.contains(name(150)));

  int before = 0;
  CHECK_THROWS_AS(map.range("",
                            [&](auto, int) {
                              if (++before == 30) throw std::runtime_error("stop");
                            }),
                  std::runtime_error);
  CHECK(before == 30);
  CHECK(map.erase(name(0)));
}

TEST_CASE("What visit's f throws leaves the map usable") {
  Map<u64, u64, Cuckoo, RwSpin> map;
  map.insert(1, 2);
  CHECK_THROWS_AS(map.visit(1, [](u64) { throw std::runtime_error("stop"); }), std::runtime_error);
  CHECK(map.update(1, 3));
  CHECK(map.find(1) == 3u);
}

TEST_CASE("modify inserts, changes, leaves and erases, and says what was and what is") {
  Map<std::string, int> map;
  const auto modify = [&map](auto f) {
    const auto done = map.modify("key", f);
    CHECK(map.find("key") == done.after);
    CHECK(map.size() == (done.after ? 1 : 0));
    return std::pair(done.before, done.after);
  };
  using Pair = std::pair<std::optional<int>, std::optional<int>>;
  const auto gone = [](std::optional<int>) -> std::optional<int> { return std::nullopt; };
  const auto next = [](std::optional<int> n) { return n.value_or(0) + 1; };
  const auto same = [](std::optional<int> n) { return n; };
  CHECK(modify(same) == Pair{});
  CHECK(modify(gone) == Pair{});
  CHECK(modify(next) == Pair{std::nullopt, 1});
  CHECK(modify(next) == Pair{1, 2});
  CHECK(modify(same) == Pair{2, 2});
  CHECK(modify(gone) == Pair{2, std::nullopt});
}

TEMPLATE_TEST_CASE("What modify's f throws leaves the pair as it was", "", (Map<u64, float>),
                   (Map<u64, float, Art, Rtm>), (Map<u64, float, Cuckoo, Mutex>), (Map<u64, float, Chained, RwSpin>)) {
  TestType map;
  const auto modify = [&map](auto f) { map.modify(1, f); };
  const auto throws = [](std::optional<float>) -> float { throw std::runtime_error("stop"); };
  const auto throws_if_absent = [](std::optional<float> value) { return value.value() + 1; };
  CHECK_THROWS_AS(modify(throws), std::runtime_error);
  CHECK_THROWS_AS(modify(throws_if_absent), std::bad_optional_access);
  CHECK_FALSE(map.contains(1));
  CHECK(map.size() == 0);
  CHECK(map.insert(1, 1.5f));
  CHECK_THROWS_AS(modify(throws), std::runtime_error);
  CHECK(map.find(1) == 1.5f);
  modify(throws_if_absent);
  CHECK(map.find(1) == 2.5f);
  CHECK(map.erase(1));
}

/// An index whose update has lost its attempt to an erase: f has seen a value, and then the pair was inserted.
struct Losing {
  using Raw = u64;
  template <class F>
  Modified modify(int&, u64, const F& f) {
    const Found first = f(Found());
    (void)f(Found(InCell<int>::stored(-1)));
    return {Found(), first};
  }
};

TEST_CASE("An exception of a run of f that lost its attempt is forgotten") {
  Losing index;
  int me = 0;
  const auto f = [](std::optional<int> n) { return n ? throw std::runtime_error("stop") : 5; };
  CHECK(InCell<int>::modify(index, me, 1, f).after == 5);
}

template <class M>
void check_against_std_map() {
  M map;
  std::map<int, int> model;
  Rng rng(test_seed());
  bool same = true;
  for (int i = 0; i < 20'000; ++i) {
    const int key = static_cast<int>(rng.below(300)) - 150;
    switch (rng.below(5)) {
      case 3: {
        const auto done = map.modify(key, [i](std::optional<int> n) { return n ? std::nullopt : std::optional(i); });
        same = same && done.before == (model.contains(key) ? std::optional(model[key]) : std::nullopt);
        if (done.before) model.erase(key);
        if (done.after) model[key] = *done.after;
        break;
      }
      case 0: same = same && map.insert(key, i) == model.emplace(key, i).second; break;
      case 1: same = same && map.upsert(key, i) == model.insert_or_assign(key, i).second; break;
      case 2: same = same && map.erase(key) == (model.erase(key) == 1); break;
      default: same = same && map.contains(key) == model.contains(key);
    }
  }
  CHECK(same);
  CHECK(map.size() == model.size());
  std::map<int, int> visited;
  map.for_each([&](int key, int value) { visited.emplace(key, value); });
  CHECK(visited == model);
}

TEST_CASE("A map over any index and policy does what std::map does") {
  check_against_std_map<Map<int, int>>();
  check_against_std_map<Map<int, int, Art, Hybrid>>();
  check_against_std_map<Map<int, int, Art, Rtm>>();
  check_against_std_map<Map<int, int, Cuckoo>>();
  check_against_std_map<Map<int, int, Chained, Mutex>>();
  check_against_std_map<Map<int, int, Vip>>();
}

/// Returns the value of a number, as the map keeps values.
template <class Value>
Value made_of(u64 number) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return std::string(number % 40, static_cast<char>('a' + number % 26));
  } else {
    return static_cast<Value>(number);
  }
}

TEMPLATE_TEST_CASE("A table of numbers keeps strings as keys, also those with equal hashes", "",
                   (Map<std::string, u64, Cuckoo>), (Map<std::string, float, Cuckoo, Rtm>),
                   (Map<std::string, u64, Cuckoo, RwSpin>), (Map<std::string, u64, CollidingCuckoo>),
                   (Map<std::string, std::string, Cuckoo>), (Map<std::string, std::string, CollidingCuckoo>),
                   (Map<std::string, std::string, CollidingCuckoo, Rtm>), (Map<std::string, u64, MemC3>),
                   (Map<std::string, std::string, MemC3, Rtm>), (Map<std::string, u64, SimdHt, RwSpin>),
                   (Map<std::string, u64, ChainedLine>)) {
  using Value = typename TestType::Value;
  std::vector<std::string> keys{"", std::string(1, '\0'), std::string(2, '\0'), std::string("\0\1", 2), "\xff"};
  for (int i = 0; i < 60; ++i) keys.push_back(std::to_string(i * i * i));
  for (const char last : {'x', 'y'}) keys.emplace_back(64 << 10, 'x').back() = last;
  TestType map;
  std::map<std::string, Value> model;
  Rng rng(test_seed());
  bool same = true;
  for (u64 i = 0; i < 20'000; ++i) {
    const std::string& key = keys[rng.below(keys.size())];
    const Value value = made_of<Value>(rng.below(1000));
    const auto at = model.find(key);
    const bool there = at != model.end();
    const auto says = [](const std::optional<Value>& answer, const Value* expected) {
      return answer.has_value() == (expected != nullptr) && (expected == nullptr || *answer == *expected);
    };
    const Value* const before = there ? &at->second : nullptr;
    switch (rng.below(6)) {
      case 0: same = same && map.insert(key, value) == model.emplace(key, value).second; break;
      case 1: same = same && map.upsert(key, value) == model.insert_or_assign(key, value).second; break;
      case 2: same = same && map.erase(key) == (model.erase(key) == 1); break;
      case 3:
        same = same && map.update(key, value) == there;
        if (there) at->second = value;
        break;
      case 4: {
        const auto done = map.modify(
            key, [&](const std::optional<Value>& now) { return now ? std::nullopt : std::optional<Value>(value); });
        same = same && says(done.before, before) && says(done.after, there ? nullptr : &value);
        there ? (void)model.erase(key) : (void)model.emplace(key, value);
        break;
      }
      default: same = same && says(map.find(key), before);
    }
  }
  CHECK(same);
  CHECK(map.size() == model.size());
  std::map<std::string, Value> visited;
  map.for_each([&](std::string_view key, const auto& value) { visited.emplace(key, value); });
  CHECK(visited == model);

  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<std::optional<Value>> found(keys.size(), made_of<Value>(1));
  map.find_batch(views, found);
  for (std::size_t i = 0; i < keys.size(); ++i) same = same && found[i] == map.find(keys[i]);
  CHECK(same);
  CHECK(map.bytes().live > 0);
  CHECK_FALSE(TestType::kOrdered);
}

TEST_CASE("A table of numbers gives back the memory of its string keys") {
  MemoryConfig memory;
  memory.limit = u64{64} << 20;  // up to 64 erased keys wait in each of three epochs
  Map<std::span<const std::byte>, std::string, Cuckoo> map("olc", memory);
  std::vector<std::byte> key(64 << 10);
  for (u32 i = 0; i < 4000; ++i) {  // 256 MB of keys and as much of values, one after the other
    std::memcpy(key.data(), &i, sizeof i);
    REQUIRE(map.insert(key, std::string(64 << 10, 'v')));
    REQUIRE(map.erase(key));
  }
  CHECK(map.size() == 0);
  key.resize(BytesKey::kLongest + 1);
  CHECK_THROWS_AS(map.insert(key, "v"), std::length_error);
  CHECK_THROWS_AS(map.upsert(key, "v"), std::length_error);
  CHECK_FALSE(map.contains(key));
  CHECK(map.size() == 0);
}

TEST_CASE("What modify's f throws leaves a string key of a table as it was") {
  Map<std::string, u64, CollidingCuckoo> map;
  const auto throws = [](std::optional<u64>) -> u64 { throw std::runtime_error("stop"); };
  map.insert("other", 1);  // of the same hash
  CHECK_THROWS_AS(map.modify("ot", throws), std::runtime_error);
  CHECK_FALSE(map.contains("ot"));
  map.insert("ot", 2);
  CHECK_THROWS_AS(map.modify("ot", throws), std::runtime_error);
  CHECK(map.find("ot") == 2u);
  CHECK(map.size() == 2);
}

TEST_CASE("A map takes the spec of its policy, and refuses a wrong one") {
  Map<u64, u64, Art, Rtm> map("rtm:5");
  CHECK(map.insert(1, 2));
  using Plain = Map<u64, u64>;
  CHECK_THROWS_AS(Plain("olc:5"), InputError);
}

TEST_CASE("A change that lacks memory throws, and has changed nothing") {
  MemoryConfig memory;
  memory.limit = u64{1} << 20;
  Map<u64, u64> map("olc", memory);
  u64 inserted = 0;
  CHECK_THROWS_AS(
      [&] {
        for (;; ++inserted) map.insert(inserted << 20, inserted);
      }(),
      std::bad_alloc);
  CHECK(inserted > 1000);
  CHECK(map.size() == inserted);
  CHECK_FALSE(map.contains(inserted << 20));
  u64 visited = 0;
  map.for_each([&](u64 key, u64 value) { visited += key == value << 20; });
  CHECK(visited == inserted);
  CHECK(map.erase(0));
}

/// Inserts keys from `first` on until memory is out. Returns the number of keys inserted.
template <class M>
u64 inserted_until_full(M& map, u64 first, const std::string& value) {
  for (u64 key = first;; ++key) {
    try {
      if (!map.insert(key, value)) FAIL("the key was there");
    } catch (const std::bad_alloc&) {
      return key - first;
    }
  }
}

TEMPLATE_TEST_CASE("One limit holds for a map's index and its values, and a full map has lost nothing", "",
                   (Map<u64, std::string, Art>), (Map<u64, std::string, Cuckoo>), (Map<u64, std::string, Chained>)) {
  using Alloc = MemoryConfig::Alloc;
  MemoryConfig memory;
  memory.alloc = GENERATE(Alloc::kMalloc, Alloc::kArena, Alloc::kArenaTouch);
  memory.limit = u64{1} << 20;
  INFO(word(memory.alloc));
  const std::string value(300, 'v'), other(200, 'w');
  {
    TestType map("olc", memory);
    const u64 keys = inserted_until_full(map, 0, value);
    CHECK(keys > 1000);
    CHECK(keys < (u64{1} << 20) / 300);
    CHECK(map.bytes().reserved == memory.limit.charged());
    CHECK(map.size() == keys);
    CHECK_FALSE(map.contains(keys));
    u64 seen = 0;
    map.for_each([&](u64 key, std::string_view text) { seen += key < keys && text == value; });
    CHECK(seen == keys);

    // What is erased can come again, in the same size. A change may be refused, but then the value is the old one.
    u64 erased = 0, replaced = 0, refused = 0;
    for (u64 key = 0; key < keys; ++key) {
      try {
        const bool wanted = key % 2 == 0 ? map.erase(key) : !map.upsert(key, other);
        REQUIRE(wanted);
        ++(key % 2 == 0 ? erased : replaced);
      } catch (const std::bad_alloc&) {
        ++refused;
        REQUIRE(map.find(key) == value);
      }
    }
    CHECK(map.size() == keys - erased);
    CHECK(refused < erased);
    CHECK(replaced > 0);
    CHECK(inserted_until_full(map, keys, value) > erased / 2);

    TestType late("olc", memory);  // the first map has left it nothing
    CHECK_THROWS_AS(late.insert(1, value), std::bad_alloc);
    CHECK(late.size() == 0);
  }
  CHECK(memory.limit.charged() == 0);
  TestType next("olc", memory);
  CHECK(inserted_until_full(next, 0, value) > 1000);
}

}  // namespace
}  // namespace latchlab
