// Tests of the array of counters: what a key may be, that each operation is one step, and what is refused.
#include "indexes/counters.h"

#include <array>
#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "indexes/concepts.h"
#include "src/base/error.h"
#include "src/base/key.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using NativeCounters = CounterArray<Native, U64Key>;
static_assert(SharedIndex<NativeCounters> && kIncrementsByItself<NativeCounters> && kModifies<NativeCounters> &&
              kFindsBatches<NativeCounters> && kChangesBatches<NativeCounters>);

Spec counters_spec(const std::string& text) { return Spec::parse(text); }

TEST_CASE("counters: each operation on a key does what its name says, and the value 0 is absent") {
  NativeCounters index(counters_spec("own"), {}, counters_spec("counters:10"));
  auto me = index.join();
  CHECK_FALSE(index.find(me, 3));
  CHECK_FALSE(index.update(me, 3, 5));
  CHECK_FALSE(index.increment(me, 3));
  CHECK(index.insert(me, 3, 5));
  CHECK_FALSE(index.insert(me, 3, 6));
  CHECK(index.find(me, 3) == 5u);
  CHECK(index.update(me, 3, 7));
  CHECK(index.increment(me, 3) == 8u);
  CHECK_FALSE(index.upsert(me, 3, 9));
  CHECK(index.upsert(me, 4, 1));
  const Modified doubled = index.modify(me, 3, [](const Found& is) noexcept { return Found(*is * 2); });
  CHECK(doubled.before == 9u);
  CHECK(doubled.after == 18u);
  CHECK_FALSE(index.modify(me, 5, [](const Found& is) noexcept { return is; }).after);
  CHECK(index.modify(me, 5, [](const Found&) noexcept { return Found(2); }).after == 2u);
  std::map<u64, u64> all;
  index.for_each(me, [&](u64 key, u64 value) { all.emplace(key, value); });
  CHECK(all == std::map<u64, u64>{{3, 18}, {4, 1}, {5, 2}});
  CHECK(index.bytes().live == 6 * sizeof(u64));
}

TEST_CASE("counters: a key beyond the array is absent and has no room, and nothing goes") {
  NativeCounters index(counters_spec("own"), {}, counters_spec("counters:10"));
  auto me = index.join();
  CHECK(index.insert(me, 9, 1));
  for (const u64 beyond : {u64{10}, u64{1} << 63, ~u64{0}}) {
    CHECK_FALSE(index.find(me, beyond));
    CHECK_FALSE(index.update(me, beyond, 1));
    CHECK_FALSE(index.increment(me, beyond));
    CHECK_THROWS_AS(index.insert(me, beyond, 1), IndexFull);
  }
  CHECK_THROWS_AS(index.erase(me, 9), std::logic_error);
  CHECK_THROWS_AS(index.modify(me, 9, [](const Found&) noexcept { return Found(); }), std::logic_error);
  CHECK_THROWS_AS(NativeCounters(counters_spec("own"), {}, counters_spec("counters:0")), InputError);
  CHECK_THROWS_AS(NativeCounters(counters_spec("own"), {}, counters_spec("counters:10,grow=1")), InputError);
  CHECK(CountersOptions::parse(counters_spec("counters:10")).most_keys() == 10);
}

/// The native machine with a yield after each load. So a change of two steps is torn, even where threads hardly
/// overlap.
struct Yielding : Native {
  template <class T>
  struct Atomic : Native::Atomic<T> {
    using Native::Atomic<T>::Atomic;
    T load(std::memory_order order) const {
      const T value = Native::Atomic<T>::load(order);
      std::this_thread::yield();
      return value;
    }
  };
};

template <class M>
void check_no_addition_is_lost() {
  constexpr u32 kThreads = 4;
  constexpr u64 kEach = 2000;
  CounterArray<M, U64Key> index(counters_spec("own"), {});
  {
    auto me = index.join();
    CHECK(index.insert(me, 0, 1));
    CHECK(index.insert(me, 1, 1));
  }
  std::atomic<u32> ready{0};
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      auto me = index.join();
      const std::array<u64, 2> keys{0, 1};
      std::array<Found, 2> after;
      ready.fetch_add(1);
      while (ready.load() < kThreads) std::this_thread::yield();
      for (u64 i = 0; i < kEach; ++i) {
        (void)index.increment(me, 0);
        index.increment_batch(me, keys, after, BatchOrder::kInTurn);
        (void)index.modify(me, 1, [](const Found& is) noexcept { return Found(*is + 1); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto me = index.join();
  CHECK(index.find(me, 0) == 1 + 2 * kThreads * kEach);
  CHECK(index.find(me, 1) == 1 + 2 * kThreads * kEach);
}

TEST_CASE("counters: threads that add to the same two counters lose no addition") {
  check_no_addition_is_lost<Yielding>();
  check_no_addition_is_lost<Emulated>();
}

TEST_CASE("counters: of two threads that set the same absent key, one adds it and the other one's value stays") {
  constexpr u64 kKeys = 5'000;
  CounterArray<Yielding, U64Key> index(counters_spec("own"), {}, counters_spec("counters:5000"));
  std::vector<char> added[2] = {std::vector<char>(kKeys), std::vector<char>(kKeys)};
  std::atomic<u32> ready{0};
  const auto set_all = [&](u64 id) {
    auto me = index.join();
    for (++ready; ready != 2;) std::this_thread::yield();
    for (u64 key = 0; key < kKeys; ++key) added[id][key] = index.upsert(me, key, id + 1) ? 1 : 0;
  };
  std::thread other([&] { set_all(1); });
  set_all(0);
  other.join();
  auto me = index.join();
  u64 wrong = 0;
  for (u64 key = 0; key < kKeys; ++key) {
    const u64 later = added[0][key] != 0 ? 2 : 1;
    wrong += added[0][key] == added[1][key] || index.find(me, key) != later;
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace latchlab
