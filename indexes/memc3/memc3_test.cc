// Cases of memc3 that the conformance suite does not cover: readers beside moves, growth and recycled pairs, and a
// table that cannot find a path.
#include "indexes/memc3/memc3.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/unmixed.h"
#include "sync/olc.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

static_assert(sizeof(memc3::Bucket<CoarseLayout<Native>>) == 32, "two buckets to a line, as in the paper");
static_assert(sizeof(memc3::Bucket<UnlatchedLayout<Native>>) == 32);
static_assert(sizeof(memc3::Bucket<VersionedLayout<Native>>) == kLineBytes);

/// Returns the number of keys 0, 1, 2 ... with which the table has 4096 slots, and a few more would double it.
template <class Index>
u64 keys_that_fill(const std::string& policy) {
  Index index(Spec::parse(policy), {});
  auto me = index.join();
  u64 keys = 0;
  for (; keys < 3000; ++keys) index.insert(me, keys, keys);
  const u64 before = index.bytes().room;
  for (; index.bytes().room == before; ++keys) index.insert(me, keys, keys);
  return keys;
}

/// Readers look up keys that stay, while a writer inserts and erases others in a nearly full table, or grows it.
template <class Index>
void check_readers(const std::string& policy) {
  const u64 full = keys_that_fill<Index>(policy);
  REQUIRE(full > 3480);  // load .85, where many inserts find no room
  constexpr u64 kReaders = 3, kChanges = kSanitized ? 20'000 : 300'000;
  const u64 stay = full - 450;
  for (const u64 others : {u64{150}, u64{12'000}}) {  // with so few keys are moved, with so many the table grows
    Index index(Spec::parse(policy), {});
    auto me = index.join();
    for (u64 key = 0; key < stay; ++key) REQUIRE(index.insert(me, key, key));
    const u64 room_before = index.bytes().room;
    std::atomic<u64> last{stay}, missing{0}, wrong{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> readers;
    for (u64 reader = 0; reader < kReaders; ++reader) {
      readers.emplace_back([&, reader] {
        auto mine = index.join();
        Rng rng(reader);
        u64 missed = 0, other = 0;
        while (!stop.load(kRelaxed)) {
          const u64 key = rng() % stay;
          const auto found = index.find(mine, key);
          missed += !found;
          other += found && *found != key;
          const u64 fleeting = last.load(kRelaxed) - rng() % 4;
          const auto seen = index.find(mine, fleeting);
          other += seen && *seen != fleeting;
        }
        missing += missed, wrong += other;
      });
    }
    u64 refused = 0;
    for (u64 key = stay; key < stay + kChanges; ++key) {
      last.store(key, kRelaxed);
      refused += !index.insert(me, key, key);
      if (key >= stay + others) refused += !index.erase(me, key - others);
    }
    stop = true;
    for (std::thread& reader : readers) reader.join();
    if (others != 150) CHECK(index.bytes().room > room_before);
    CHECK(refused == 0);
    CHECK(missing == 0);
    CHECK(wrong == 0);
  }
}

TEST_CASE("memc3: a reader never misses a moved key, and never reads the pair of another key") {
  check_readers<Synchronized<MemC3, Olc<Native>, U64Key>>("olc");
  check_readers<Synchronized<MemC3, Striped<Native>, U64Key>>("striped:8192");
}

TEST_CASE("memc3: keys chosen to collide are refused before they fill the memory") {
  Synchronized<MemC3, Olc<Native>, U64Key> index(Spec::parse("olc"), {});
  auto me = index.join();
  u64 keys = 0;  // of one tag, with homes that end in twenty zeros: all share two buckets
  CHECK_THROWS_AS(
      [&] {
        for (; keys < 100; ++keys) index.insert(me, unmixed(keys << 20), keys);
      }(),
      IndexFull);
  CHECK(keys == 8);
  for (u64 i = 0; i < keys; ++i) CHECK(index.find(me, unmixed(i << 20)) == i);
  CHECK(index.bytes().reserved < u64{20} << 20);
  CHECK(index.insert(me, 1, 1));
}

}  // namespace
}  // namespace latchlab::testing
