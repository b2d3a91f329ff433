// Tests of a map's batches of changes: they do what the single operations do, in turn, and keep count when they end
// early.
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "library/map.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"

namespace latchlab {
namespace {

/// Returns the key or the value of a number.
template <class T>
T of_number(u64 number) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(number % 40, static_cast<char>('a' + number % 26));
  } else {
    return static_cast<T>(number % 1000);
  }
}

/// The arguments of a batch, and its results.
template <class M>
struct BatchOf {
  using Key =
      std::conditional_t<std::is_same_v<typename M::KeyView, std::string_view>, std::string, typename M::KeyView>;
  using Value = typename M::Value;

  BatchOf(Rng& rng, std::size_t count) : done(new bool[count]), modified(count) {
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back(of_number<Key>(rng.below(120)));
      values.push_back(of_number<Value>(rng.below(1000)));
    }
    key_views.assign(keys.begin(), keys.end());
    value_views.assign(values.begin(), values.end());
    results = std::span(done.get(), count);
    std::ranges::fill(results, true);  // the batch must overwrite them
  }

  std::vector<Key> keys;
  std::vector<Value> values;
  std::vector<typename M::KeyView> key_views;
  std::vector<typename M::ValueView> value_views;
  std::unique_ptr<bool[]> done;
  std::span<bool> results;
  std::vector<typename M::Modified> modified;
};

TEMPLATE_TEST_CASE("Batches of changes do what single operations do, in turn", "", (Map<u64, u64>),
                   (Map<int, float, Cuckoo, Rtm>), (Map<u64, u64, Chained, RwSpin>), (Map<std::string, u64, Cuckoo>),
                   (Map<int, std::string>), (Map<int, std::string, Cuckoo, Rtm>), (Map<int, std::string, Chained>),
                   (Map<std::string, std::string, Cuckoo>)) {
  using Batch = BatchOf<TestType>;
  TestType map;
  std::map<typename Batch::Key, typename Batch::Value> model;
  Rng rng(test_seed());
  bool same = true;
  for (u32 round = 0; round < 400; ++round) {
    const std::size_t counts[] = {0, 1, 15, 16, 17, 64, 65, 150};
    Batch batch(rng, counts[rng.below(8)]);
    const auto& [keys, values, key_views, value_views, done, results, modified] = batch;
    const u64 what = rng.below(4);
    if (what == 0) map.insert_batch(key_views, value_views, results);
    if (what == 1) map.upsert_batch(key_views, value_views, results);
    if (what == 2) map.erase_batch(key_views, results);
    if (what == 3) {
      map.modify_batch(key_views, batch.modified,
                       [&](std::size_t i, const auto& now) { return now ? std::nullopt : std::optional(values[i]); });
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto at = model.find(keys[i]);
      const bool there = at != model.end();
      if (what == 0) same = same && results[i] == model.emplace(keys[i], values[i]).second;
      if (what == 1) same = same && results[i] == model.insert_or_assign(keys[i], values[i]).second;
      if (what == 2) same = same && results[i] == (model.erase(keys[i]) == 1);
      if (what != 3) continue;
      same = same && modified[i].before == (there ? std::optional(at->second) : std::nullopt);
      same = same && modified[i].after == (there ? std::nullopt : std::optional(values[i]));
      there ? (void)model.erase(at) : (void)model.emplace(keys[i], values[i]);
    }
    REQUIRE(same);
    REQUIRE(map.size() == model.size());
  }
  for (const auto& [key, value] : model) same = same && map.find(key) == value;
  CHECK(same);
}

TEMPLATE_TEST_CASE("A batch that lacks memory tells and counts what it has done", "", (Map<u64, u64>),
                   (Map<u64, u64, Cuckoo>), (Map<u64, std::string>), (Map<u64, std::string, Cuckoo>)) {
  using Value = typename TestType::Value;
  const bool upserts = GENERATE(false, true);
  MemoryConfig memory;
  memory.limit = u64{1} << 20;
  TestType map("olc", memory);
  constexpr std::size_t kKeys = 100;
  std::vector<u64> keys(kKeys);
  const Value value = [] {
    if constexpr (std::is_same_v<Value, std::string>) return std::string(500, 'v');
    if constexpr (!std::is_same_v<Value, std::string>) return u64{5};
  }();
  const std::vector<typename TestType::ValueView> values(kKeys, value);
  bool done[kKeys];
  u64 told = 0;
  const auto put = [&] {
    for (u64 first = 0;; first += kKeys) {
      for (u64 i = 0; i < kKeys; ++i) keys[i] = (first + i) << 20;
      try {
        upserts ? map.upsert_batch(keys, values, done) : map.insert_batch(keys, values, done);
      } catch (...) {
        told += static_cast<u64>(std::ranges::count(done, true));
        throw;
      }
      told += kKeys;
    }
  };
  CHECK_THROWS_AS(put(), std::bad_alloc);
  CHECK(told > 500);
  CHECK(map.size() == told);
  u64 visited = 0;
  map.for_each([&](u64, const auto&) { ++visited; });
  CHECK(visited == told);
  for (std::size_t i = 0; i < kKeys; ++i) CHECK(map.contains(keys[i]) == done[i]);
}

TEMPLATE_TEST_CASE("What the f of a batch throws leaves the earlier modifications done", "", (Map<int, int>),
                   (Map<int, std::string>)) {
  using Value = typename TestType::Value;
  TestType map;
  std::vector<int> keys(100);
  for (int i = 0; i < 100; ++i) keys[static_cast<std::size_t>(i)] = i;
  std::vector<typename TestType::Modified> modified(100);
  const auto throws_at_70 = [](std::size_t i, const std::optional<Value>&) {
    return i == 70 ? throw std::runtime_error("stop") : of_number<Value>(i);
  };
  CHECK_THROWS_AS(map.modify_batch(keys, modified, throws_at_70), std::runtime_error);
  CHECK(map.size() == 70);
  CHECK(map.contains(69));
  CHECK_FALSE(map.contains(70));
  CHECK(modified[69].after.has_value());
}

}  // namespace
}  // namespace latchlab
