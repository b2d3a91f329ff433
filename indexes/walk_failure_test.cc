// Tests of walks while the heap is empty. A walk takes no memory of its index, only room for its copies, outside
// attempts. A step without room must throw std::bad_alloc, and the walk must be able to go on without missing a key.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/memc3/memc3.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

FailurePlan heap;                            // says which allocation of the heap fails
constinit std::atomic<bool> watched{false};  // false while tests of other files run

}  // namespace
}  // namespace latchlab::testing

// The heap of this test program. It fails as the plan says, while it is watched.
void* operator new(std::size_t bytes) {
  using namespace latchlab::testing;
  if (watched.load(std::memory_order_relaxed) && heap.fails()) throw std::bad_alloc();
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// Not inlined: g++ would take free() for the wrong counterpart of operator new.
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace latchlab::testing {
namespace {

/// Keys that do not fit into the first room of a walk: long ones, and ones whose spelling is not the key.
std::vector<std::string> long_keys() {
  std::vector<std::string> keys{""};
  for (u32 i = 0; i < 40; ++i) keys.push_back(std::string(i % 5 * 3, '\1') + std::to_string(i));
  for (const std::size_t size : {100, 3000, 5000, 20'000, 70'000})
    keys.push_back(std::string(size, static_cast<char>(size % 3)) + "end");
  return keys;
}

template <class Policy>
using HashedUnder = ByHash<Synchronized<Cuckoo, Policy, U64Key>>;
using WalkingStrings =
    std::tuple<Synchronized<Art, Olc<Native>, BytesKey>, Synchronized<Art, Rowex<Native>, BytesKey>,
               Synchronized<Art, Spin<Native>, BytesKey>, Synchronized<Chained, Olc<Native>, BytesKey>,
               Synchronized<Chained, Spin<Native>, BytesKey>, HashedUnder<Olc<Native>>, HashedUnder<Spin<Native>>,
               ByHash<Synchronized<MemC3, Olc<Native>, U64Key>>>;

TEMPLATE_LIST_TEST_CASE("A step of a walk that lacks memory throws, and the walk goes on without missing a key", "",
                        WalkingStrings) {
  const std::vector<std::string> keys = long_keys();
  TestType index(Spec::parse(TestType::Policy::kName), MemoryConfig{});
  auto me = index.join();
  for (std::size_t i = 0; i < keys.size(); ++i) REQUIRE(index.insert(me, keys[i], i));
  u64 refused = 0;
  std::vector<u32> visits(keys.size());
  u64 wrong = 0;
  const auto visit = [&](std::string_view key, u64 number) {
    wrong += number >= keys.size() || key != keys[number];
    ++visits[number % keys.size()];
  };
  for (const auto then : {FailurePlan::Then::kOnce, FailurePlan::Then::kForEver}) {
    for (u64 n = 1; n < 100; ++n) {
      CAPTURE(n);
      std::fill(visits.begin(), visits.end(), 0);
      typename TestType::Walk walk;
      const u64 before = refused;
      heap.arm(n, then);
      for (bool more = true; more;) {
        watched.store(true);
        try {
          more = index.walk_on(me, walk, 7, visit);
          watched.store(false);
        } catch (const std::bad_alloc&) {
          watched.store(false);
          ++refused;
          heap.disarm();
        }
      }
      CHECK(wrong == 0);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        INFO("key " << i << " of " << keys[i].size() << " bytes");
        REQUIRE(visits[i] >= 1);
        REQUIRE(visits[i] <= 1 + refused - before);
      }
      REQUIRE(index.find(me, keys.back()) == keys.size() - 1);
      REQUIRE_FALSE(index.upsert(me, keys[n % keys.size()], n % keys.size()));  // nothing is locked
      if (refused == before) break;
    }
  }
  CHECK(refused > 3);
}

/// Walks over 1000 keys by a visitor that throws again and again; `key_of` makes a key of a number.
template <class Index, class KeyOf>
void check_throwing_visitor(const KeyOf& key_of) {
  Index index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  for (u64 i = 0; i < 1000; ++i) REQUIRE(index.insert(me, key_of(i), i));
  struct Thrown {};
  std::map<u64, u32> visits;
  u64 calls = 0, thrown = 0;
  typename Index::Walk walk;
  for (bool more = true; more;) {
    try {
      more = index.walk_on(me, walk, 50, [&](const auto&, u64 value) {
        if (++calls % 100 == 0) throw Thrown();
        ++visits[value];
      });
    } catch (const Thrown&) {
      ++thrown;
    }
  }
  CHECK(thrown > 5);
  CHECK(visits.size() == 1000);
}

/// Throws out of a step, changes every value, and takes the step again.
template <class Index, class KeyOf>
void check_step_taken_again(const KeyOf& key_of) {
  constexpr u64 kKeys = 300;
  Index index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  for (u64 i = 0; i < kKeys; ++i) REQUIRE(index.insert(me, key_of(i), i));
  struct Thrown {};
  typename Index::Walk walk;
  u64 calls = 0, changed = 0;
  CHECK_THROWS_AS(index.walk_on(me, walk, 50,
                                [&](const auto&, u64) {
                                  if (++calls == 10) throw Thrown();
                                }),
                  Thrown);
  for (u64 i = 0; i < kKeys; ++i) REQUIRE(index.update(me, key_of(i), kKeys + i));
  for (bool more = true; more;)
    more = index.walk_on(me, walk, 50, [&](const auto&, u64 value) { changed += value >= kKeys; });
  CHECK(changed == kKeys);
}

TEST_CASE("A step that is taken again shows the values as they are then") {
  check_step_taken_again<Synchronized<Chained, Olc<Native>, U64Key>>([](u64 i) { return i; });
  check_step_taken_again<HashedUnder<Olc<Native>>>([](u64 i) { return std::to_string(i); });
}

TEST_CASE("A visitor that throws in the middle of a step sees its pairs again") {
  check_throwing_visitor<Synchronized<Chained, Olc<Native>, U64Key>>([](u64 i) { return i; });
  check_throwing_visitor<HashedUnder<Olc<Native>>>([](u64 i) { return std::to_string(i); });
}

}  // namespace
}  // namespace latchlab::testing
