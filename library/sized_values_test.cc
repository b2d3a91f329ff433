// Tests of maps whose values lie in a store: strings, bytes and large structs.
#include "library/sized_values.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "library/map.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "sync/mutex.h"
#include "sync/rtm.h"

namespace latchlab {
namespace {

/// Returns a value of one repeated letter. Lengths from 0 to 299 cover the short words and several sizes of blocks.
std::string value_of(u64 number) { return std::string(number * 7 % 300, static_cast<char>('a' + number % 26)); }

TEST_CASE("A map keeps strings, of no byte and of many") {
  Map<std::string, std::string> map;
  CHECK(map.insert("a", ""));
  CHECK(map.insert("b", std::string(100'000, 'x')));
  CHECK_FALSE(map.insert("b", "y"));
  CHECK(map.find("a") == "");
  CHECK(map.find("b") == std::string(100'000, 'x'));
  CHECK(map.find("c") == std::nullopt);
  CHECK(map.update("a", "seven b"));
  CHECK(map.find("a") == "seven b");
  CHECK_FALSE(map.update("c", "z"));
  CHECK_FALSE(map.upsert("a", "eight by"));
  CHECK(map.upsert("c", "z"));
  std::size_t seen = 0;
  CHECK(map.visit("a", [&](std::string_view value) { seen = value.size(); }));
  CHECK(seen == 8);
  CHECK(map.size() == 3);
  CHECK(map.bytes().live > 100'000);
  CHECK(map.erase("b"));
  CHECK(map.size() == 2);
}

TEST_CASE("A map keeps bytes and large structs") {
  struct Large {
    explicit Large(u64 n) : first(n), last(-static_cast<i64>(n)) {}
    u64 first;
    alignas(32) i64 last;
    bool operator==(const Large&) const = default;
  };
  Map<int, Large> structs;
  Map<int, std::vector<std::byte>> vectors;
  std::vector<std::byte> bytes(20);
  for (int i = 0; i < 20; ++i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(i);
    CHECK(structs.insert(i, Large(static_cast<u64>(i))));
    CHECK(vectors.insert(i, std::span(bytes).first(static_cast<std::size_t>(i))));
  }
  int right = 0;
  structs.range(5, [&](int key, const Large& value) { right += value == Large(static_cast<u64>(key)); });
  vectors.range(5, [&](int key, std::span<const std::byte> value) {
    right += std::ranges::equal(value, std::span(bytes).first(static_cast<std::size_t>(key)));
  });
  CHECK(right == 30);
  CHECK(structs.find(3) == Large(3));
  CHECK(vectors.find(3)->size() == 3);
  const auto done = structs.modify(3, [](const std::optional<Large>& value) { return Large(value->first + 1); });
  CHECK(done.before == Large(3));
  CHECK(done.after == Large(4));
}

TEMPLATE_TEST_CASE("A map of strings does what std::map does", "", (Map<int, std::string>),
                   (Map<int, std::string, Art, Rtm>), (Map<int, std::string, Cuckoo, Mutex>),
                   (Map<int, std::string, Chained>)) {
  TestType map;
  std::map<int, std::string> model;
  Rng rng(test_seed());
  bool same = true;
  for (u64 i = 0; i < 20'000; ++i) {
    const int key = static_cast<int>(rng.below(200)) - 100;
    const std::string value = value_of(rng());
    switch (rng.below(5)) {
      case 0: same = same && map.insert(key, value) == model.emplace(key, value).second; break;
      case 1: same = same && map.upsert(key, value) == model.insert_or_assign(key, value).second; break;
      case 2: same = same && map.erase(key) == (model.erase(key) == 1); break;
      case 3: {
        const auto done = map.modify(key, [&](const std::optional<std::string>& now) -> std::optional<std::string> {
          if (now && now->size() > 100) return std::nullopt;
          return now.value_or("") + value;
        });
        same = same && done.before == (model.contains(key) ? std::optional(model[key]) : std::nullopt);
        done.after ? (void)(model[key] = *done.after) : (void)model.erase(key);
        break;
      }
      default:
        const auto at = model.find(key);
        same = same && map.find(key) == (at == model.end() ? std::nullopt : std::optional(at->second));
    }
  }
  CHECK(same);
  CHECK(map.size() == model.size());
  std::map<int, std::string> visited;
  map.for_each([&](int key, std::string_view value) { visited.emplace(key, value); });
  CHECK(visited == model);

  std::vector<int> keys(200);
  for (int i = 0; i < 200; ++i) keys[static_cast<std::size_t>(i)] = i - 100;
  std::vector<std::optional<std::string>> found(200, "old");
  map.find_batch(keys, found);
  for (const int key : keys) same = same && found[static_cast<std::size_t>(key + 100)] == map.find(key);
  CHECK(same);
}

TEST_CASE("modify says what was and what is, and leaves an equal value where it lies") {
  Map<int, std::string> map;
  const std::string value(100, 'v');
  const auto set = [&](const std::optional<std::string>&) { return value; };
  const auto gone = [](const std::optional<std::string>&) -> std::optional<std::string> { return std::nullopt; };
  CHECK(map.modify(1, gone).before == std::nullopt);
  CHECK(map.size() == 0);
  const auto first = map.modify(1, set);
  CHECK((first.before == std::nullopt && first.after == value));
  const char* place = nullptr;
  map.visit(1, [&](std::string_view there) { place = there.data(); });
  const auto again = map.modify(1, set);
  CHECK((again.before == value && again.after == value));
  map.visit(1, [&](std::string_view there) { CHECK(there.data() == place); });
  CHECK(map.modify(1, gone).before == value);
  CHECK(map.size() == 0);
}

TEST_CASE("What f throws leaves a sized value as it was, and the map usable") {
  Map<int, std::string> map;
  map.insert(1, "one of many");
  const auto throws = [](const auto&) -> std::string { throw std::runtime_error("stop"); };
  CHECK_THROWS_AS(map.visit(1, throws), std::runtime_error);
  CHECK_THROWS_AS(map.modify(1, throws), std::runtime_error);
  CHECK_THROWS_AS(map.modify(2, throws), std::runtime_error);
  CHECK_THROWS_AS(map.range(0, [&](int, std::string_view value) { throws(value); }), std::runtime_error);
  CHECK(map.find(1) == "one of many");
  CHECK(map.size() == 1);
  CHECK_THROWS_AS(map.upsert(1, std::string((std::size_t{16} << 20) + 1, 'x')), std::length_error);
  CHECK(map.find(1) == "one of many");
  CHECK(map.erase(1));
}

TEST_CASE("A change of a sized value that lacks memory throws, and has changed nothing") {
  MemoryConfig memory;
  memory.limit = u64{1} << 20;
  Map<int, std::string> map("olc", memory);
  const std::string value(1000, 'v');
  int inserted = 0;
  const auto fill = [&] {
    for (;; ++inserted) map.insert(inserted, value);
  };
  CHECK_THROWS_AS(fill(), std::bad_alloc);
  CHECK(inserted > 100);
  CHECK(map.size() == static_cast<u64>(inserted));
  CHECK_FALSE(map.contains(inserted));
  CHECK(map.find(inserted - 1) == value);
  CHECK(map.erase(0));
}

TEMPLATE_TEST_CASE("A map is a cache: what is used stays, and size counts what is evicted", "", (Map<int, std::string>),
                   (Map<std::string, std::string, Cuckoo>), (Map<std::string, std::string, Chained, Mutex>)) {
  TestType map;
  typename TestType::Hand hand;
  const auto key = [](int number) {
    if constexpr (std::is_same_v<typename TestType::KeyView, int>) {
      return number;
    } else {
      return std::to_string(number);
    }
  };
  const std::string value(50, 'v');
  for (int number = 0; number < 100; ++number) map.insert(key(number), value);
  for (int number = 0; number < 100; number += 2) {
    CHECK(map.use(key(number), [&](std::string_view there) { CHECK(there == value); }));
  }
  CHECK_FALSE(map.use(key(100), [](std::string_view) {}));
  std::size_t evicted = 0, told = 0;
  const auto tell = [&](typename TestType::KeyView, std::string_view there) { told += there == value; };
  do {
    const Eviction step = map.evict(hand, 10, tell);
    evicted += step.pairs;
    CHECK(step.came_round == hand.at_start());
  } while (!hand.at_start());
  CHECK(evicted == 50);
  CHECK(told == 50);
  CHECK(map.size() == 50);
  for (int number = 0; number < 100; ++number) CHECK(map.contains(key(number)) == (number % 2 == 0));
  auto session = map.join();
  CHECK(session.use(key(0), [](std::string_view) {}));
  const auto throws = [](typename TestType::KeyView, std::string_view) { throw std::runtime_error("stop"); };
  CHECK_THROWS_AS(session.evict(hand, 100, throws), std::runtime_error);
  CHECK(map.size() == 49);
  CHECK(map.contains(key(0)));
}
static_assert(!Map<int, int>::kEvicts);

TEMPLATE_TEST_CASE("Threads replace sized values, and readers see whole ones", "", (Map<u64, std::string>),
                   (Map<u64, std::string, Chained, Mutex>)) {
  constexpr u64 kKeys = 8, kRounds = 3000, kCounter = 100;
  TestType map;
  std::atomic<u64> torn{0};
  const auto whole = [](std::string_view value) {
    return value.find_first_not_of(value.empty() ? 'a' : value[0]) == value.npos;
  };
  const auto run = [&](u64 seed) {
    Rng rng(seed);
    u64 mine = 0;
    for (u64 i = 0; i < kRounds; ++i) {
      const u64 key = rng.below(kKeys);
      map.upsert(key, value_of(rng()));
      map.visit(rng.below(kKeys), [&](std::string_view value) { mine += !whole(value); });
      if (rng.below(4) == 0) map.erase(key);
      map.modify(kCounter,
                 [](const std::optional<std::string>& n) { return std::to_string(std::stoull(n.value_or("0")) + 1); });
    }
    torn += mine;
  };
  std::thread other([&] { run(1); });
  run(2);
  other.join();
  CHECK(torn == 0);
  CHECK(map.find(kCounter) == std::to_string(2 * kRounds));
}

}  // namespace
}  // namespace latchlab
