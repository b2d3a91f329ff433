// Tests of the operations that show the value that a key had, by one thread and by two.
#include <array>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "library/map.h"
#include "src/base/key.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/mutex.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

/// A value that lies in the store, and is no view.
struct Triple {
  u64 number, twice, thrice;
};

/// Returns the form in which a map takes a number, as a key or as a value. Strings are kept in the store.
template <class T>
T spelled_as(u64 number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::to_string(number) + std::string(8 + number % 90, '.');
  } else if constexpr (std::is_same_v<T, Triple>) {
    return {number, 2 * number, 3 * number};
  } else {
    return static_cast<T>(number);
  }
}
u64 number_in(u64 value) { return value; }
u64 number_in(std::string_view value) {
  const u64 number = std::stoull(std::string(value));
  return value == spelled_as<std::string>(number) ? number : ~u64{0};
}
u64 number_in(const Triple& value) { return value.thrice == value.number + value.twice ? value.number : ~u64{0}; }

/// A map whose keys and values are numbers.
template <class M>
class Numbers {
  using Key = std::conditional_t<std::is_same_v<typename M::KeyView, u64>, u64, std::string>;

 public:
  M map;

  bool insert(u64 key, u64 value, const auto& before) {
    return map.insert(key_of(key), value_of(value), shows(before));
  }
  bool update(u64 key, u64 value, const auto& before) {
    return map.update(key_of(key), value_of(value), shows(before));
  }
  bool upsert(u64 key, u64 value, const auto& before) {
    return map.upsert(key_of(key), value_of(value), shows(before));
  }
  bool erase(u64 key, const auto& before) { return map.erase(key_of(key), shows(before)); }
  std::optional<u64> find(u64 key) {
    const auto value = map.find(key_of(key));
    return value ? std::optional(number_in(*value)) : std::nullopt;
  }

 private:
  static Key key_of(u64 number) { return spelled_as<Key>(number); }
  static auto value_of(u64 number) { return spelled_as<typename M::Value>(number); }
  static auto shows(const auto& before) {
    return [&before](const typename M::ValueView& value) { before(number_in(value)); };
  }
};

using Maps = std::tuple<Map<u64, u64>, Map<u64, u64, Cuckoo, Rtm>, Map<u64, u64, Chained, Mutex>, Map<std::string, u64>,
                        Map<std::string, u64, Cuckoo>, Map<u64, std::string>, Map<u64, Triple, Chained>,
                        Map<std::string, std::string, Cuckoo>, Map<std::string, std::string, Cuckoo, Rtm>>;

TEMPLATE_LIST_TEST_CASE("An operation shows the value that the key had, once", "", Maps) {
  Numbers<TestType> numbers;
  std::vector<u64> shown;
  const auto show = [&shown](u64 value) { shown.push_back(value); };
  const auto shows = [&shown](const std::vector<u64>& expected) { return std::exchange(shown, {}) == expected; };
  for (u64 key = 0; key < 200; ++key) {
    CHECK_FALSE((numbers.update(key, 1, show) || numbers.erase(key, show)));
    CHECK(numbers.insert(key, 10 + key, show));
    CHECK(shows({}));
    CHECK_FALSE(numbers.insert(key, 2, show));
    CHECK(shows({10 + key}));
    CHECK(numbers.find(key) == 10 + key);
    CHECK(numbers.update(key, 300 + key, show));
    CHECK(shows({10 + key}));
    CHECK_FALSE(numbers.upsert(key, 500 + key, show));
    CHECK(shows({300 + key}));
    CHECK(numbers.find(key) == 500 + key);
    CHECK(numbers.map.size() == key + 1);
  }
  for (u64 key = 0; key < 200; ++key) {
    CHECK(numbers.erase(key, show));
    CHECK(shows({500 + key}));
    CHECK(numbers.map.size() == 199);
    CHECK(numbers.upsert(key, key, show));
    CHECK(shows({}));
  }
  CHECK(numbers.map.size() == 200);
}

TEMPLATE_LIST_TEST_CASE("An operation is done and counted also if the function that it shows a value to throws", "",
                        Maps) {
  Numbers<TestType> numbers;
  const auto stop = [](u64) { throw std::runtime_error("stop"); };
  for (u64 round = 0; round < 100; ++round) {
    CHECK(numbers.insert(7, 1, stop));
    CHECK_THROWS_AS(numbers.insert(7, 2, stop), std::runtime_error);
    CHECK(numbers.find(7) == 1u);
    CHECK_THROWS_AS(numbers.update(7, 3, stop), std::runtime_error);
    CHECK(numbers.find(7) == 3u);
    CHECK_THROWS_AS(numbers.upsert(7, 4, stop), std::runtime_error);
    CHECK(numbers.find(7) == 4u);
    CHECK(numbers.map.size() == 1);
    CHECK_THROWS_AS(numbers.erase(7, stop), std::runtime_error);
    CHECK(numbers.find(7) == std::nullopt);
    CHECK(numbers.map.size() == 0);
    CHECK_FALSE((numbers.update(7, 5, stop) || numbers.erase(7, stop)));
    CHECK(numbers.upsert(7, 6, stop));
    CHECK_THROWS_AS(numbers.erase(7, stop), std::runtime_error);
  }
  CHECK(numbers.map.size() == 0);
}

TEST_CASE("A session shows the values that keys had") {
  Map<u64, std::string> map;
  auto session = map.join();
  std::string shown;
  const auto show = [&shown](std::string_view value) { shown += value; };
  CHECK(session.insert(1, "one, ", show));
  CHECK_FALSE(session.upsert(1, "", show));
  CHECK(session.update(1, "longer than a cell", show));
  CHECK(session.erase(1, show));
  CHECK(shown == "one, longer than a cell");
  CHECK(map.size() == 0);
}

struct OneHash {
  static u64 of(std::string_view) { return 1; }
};

TEST_CASE("An operation shows the value of its key among others of the same hash") {
  ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>, OneHash> index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  using Kind = InCell<u64>;
  const std::array<std::string_view, 4> keys{"a", "b", "c", "d"};
  u64 shown = 0;
  const auto show = [&shown](u64 value) { shown = value; };
  for (u64 first = 0; first < keys.size(); ++first) {  // the first, a middle or the last of the chain goes first
    for (u64 i = 0; i < keys.size(); ++i) REQUIRE(Kind::insert(index, me, keys[i], 10 + i, show));
    for (u64 i = 0; i < keys.size(); ++i) {
      CHECK_FALSE(Kind::insert(index, me, keys[i], 1, show));
      CHECK(std::exchange(shown, 0) == 10 + i);
      CHECK(Kind::update(index, me, keys[i], 20 + i, show));
      CHECK(std::exchange(shown, 0) == 10 + i);
      CHECK_FALSE(Kind::upsert(index, me, keys[i], 30 + i, show));
      CHECK(std::exchange(shown, 0) == 20 + i);
    }
    for (u64 i = first; i < first + keys.size(); ++i) {
      CHECK(Kind::erase(index, me, keys[i % keys.size()], show));
      CHECK(std::exchange(shown, 0) == 30 + i % keys.size());
      CHECK_FALSE(Kind::erase(index, me, keys[i % keys.size()], show));
      CHECK(shown == 0);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("Of two threads that replace or erase a value, one gets it", "", Maps) {
  constexpr u64 kKeys = 4, kRounds = 20'000;
  Numbers<TestType> numbers;
  std::atomic<u64> put{0}, taken{0}, pairs{0}, torn{0};  // the sums of the values, and the number of pairs
  std::array<std::thread, 2> threads;
  for (u64 t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&, t, seed = test_seed() + t] {
      Rng random(seed);
      u64 mine_put = 0, mine_taken = 0, mine_pairs = 0, mine_torn = 0;
      const auto look = [&](u64 value) { mine_torn += value == ~u64{0}; };
      const auto take = [&](u64 value) {
        look(value);
        mine_taken += value;
      };
      for (u64 round = 0; round < kRounds; ++round) {
        const u64 key = random.below(kKeys);
        const u64 value = random() >> 2;  // no two are likely to be equal
        switch (random.below(4)) {
          case 0: {
            const bool added = numbers.insert(key, value, look);
            mine_put += added ? value : 0, mine_pairs += added;
            break;
          }
          case 1: mine_put += numbers.update(key, value, take) ? value : 0; break;
          case 2: mine_put += value, mine_pairs += numbers.upsert(key, value, take); break;
          default: mine_pairs -= numbers.erase(key, take);
        }
      }
      put += mine_put, taken += mine_taken, pairs += mine_pairs, torn += mine_torn;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  CHECK(numbers.map.size() == pairs);
  u64 left = 0;
  for (u64 key = 0; key < kKeys; ++key) left += numbers.find(key).value_or(0);
  CHECK(put == taken + left);
}

}  // namespace
}  // namespace latchlab
