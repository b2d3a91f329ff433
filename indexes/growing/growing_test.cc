// Tests of how growing tables fill and grow, for any keys, and of the work that one operation does for growth.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/memc3/memc3.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/memory.h"
#include "src/testing/catch.h"
#include "sync/layout.h"
#include "sync/none.h"
#include "sync/synchronized.h"
#include "sync/versioned_tx.h"

namespace latchlab::testing {
namespace {

struct Pattern {
  std::string name;
  std::function<u64(u64)> key;
};

/// Returns patterns of keys that break weak hash functions.
std::vector<Pattern> patterns() {
  return {{"sequential", [](u64 i) { return i; }},
          {"stride 4096", [](u64 i) { return i << 12; }},
          {"stride 2^20", [](u64 i) { return i << 20; }},
          {"upper halves", [](u64 i) { return i << 32; }},
          {"both halves", [](u64 i) { return i << 32 | i; }},
          {"reversed", [](u64 i) { return ~i; }},
          {"random", [seed = Rng(test_seed())()](u64 i) { return mix64(seed + i); }}};
}

/// Checks that a table of buckets of `bucket_bytes` with `slots` slots grows at `load`, for any pattern of keys. Tables
/// count their keys by a sample of one in 64, which is accurate to about 1 % at 500,000 keys.
template <template <class Layout, class Key> class Index>
void check_load(double load, double slots, double bucket_bytes) {
  constexpr u64 kKeys = 1'000'000;
  for (const Pattern& pattern : patterns()) {
    INFO(pattern.name);
    Synchronized<Index, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
    auto me = index.join();
    double least = 1e9, most = 0;  // bytes a key
    for (u64 i = 0; i < kKeys; ++i) {
      REQUIRE(index.insert(me, pattern.key(i), i));
      if (i < kKeys / 2) continue;
      const double bytes = static_cast<double>(index.bytes().room) / static_cast<double>(i + 1);
      least = std::min(least, bytes);
      most = std::max(most, bytes);
    }
    const double full = bucket_bytes / slots / load;
    CHECK(least < 1.03 * full);
    CHECK(least > .96 * full);
    CHECK(most < 2 * 1.08 * full);
    u64 found = 0;
    for (u64 i = 0; i < kKeys; ++i) found += index.find(me, pattern.key(i)) == i;
    CHECK(found == kKeys);
  }
}
TEST_CASE("cuckoo fills to .5 before it grows, with three slots to .65, with seven to .95, for any pattern of keys",
          "[release]") {
  check_load<Cuckoo>(.5, 4, 64);
  check_load<Cuckoo3>(.65, 3, 64);
  check_load<Cuckoo7>(.95, 7, 128);
}

TEST_CASE("memc3 fills to .95 before it grows, for any pattern of keys", "[release]") { check_load<MemC3>(.95, 4, 32); }

TEST_CASE("chained has between .75 and 1.5 keys a bucket, for any pattern of keys", "[release]") {
  constexpr u64 kKeys = 128'000;  // in 131,072 buckets
  for (const Pattern& pattern : patterns()) {
    INFO(pattern.name);
    Synchronized<Chained, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
    auto me = index.join();
    for (u64 i = 0; i < kKeys; ++i) REQUIRE(index.insert(me, pattern.key(i), i));
    u64 nodes = 0;
    for (u64 i = 0; i < kKeys; ++i) nodes += index.visits(me, pattern.key(i));
    // On average, half the other keys of a bucket stand before a key.
    CHECK(static_cast<double>(nodes) / kKeys == Approx(1 + 128'000. / 131'072 / 2).epsilon(.01));
  }
}

/// Returns the average number of buckets that a lookup reads, for these keys.
template <class Index>
double visits(Index& index, typename Index::ThreadState& me, u64 from, u64 to) {
  u64 sum = 0;
  for (u64 i = from; i < to; ++i) sum += index.visits(me, i);
  return static_cast<double>(sum) / static_cast<double>(to - from);
}

TEST_CASE("a lookup in cuckoo reads one line, before and after a doubling", "[release]") {
  Synchronized<Cuckoo, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  u64 keys = 0;
  double most = 0, sum = 0, points = 0;

  for (const u64 end : {u64{350'000}, u64{400'000}, u64{440'000}, u64{480'000}, u64{515'000}}) {
    for (; keys < end; ++keys) index.insert(me, keys, keys);
    const double hit = visits(index, me, 0, keys), miss = visits(index, me, keys, 2 * keys);
    most = std::max(most, hit);
    sum += hit, ++points;
    INFO(keys << " keys");
    CHECK(hit < 1.06);
    CHECK(miss < 1.08);
  }
  CHECK(sum / points < 1.04);
  CHECK(most > 1.02);  // the load was what the test needs
  for (; keys < 700'000; ++keys) index.insert(me, keys, keys);
  CHECK(visits(index, me, 0, keys) < 1.02);  // the strays have come home
}

TEST_CASE("a lookup in memc3 reads a bucket or two, each within one line", "[release]") {
  Synchronized<MemC3, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  for (u64 key = 0; key < 480'000; ++key) index.insert(me, key, key);  // of 524,288 slots
  const double hit = visits(index, me, 0, 480'000);
  CHECK(hit > 1.1);  // the load is what the test needs
  CHECK(hit < 1.5);
  CHECK(visits(index, me, 480'000, 960'000) == 2);
}

/// Growth rules that split whenever they are asked.
struct Eager {
  static bool crowded(u64, u32) { return true; }
  template <class Tx, class Reader>
  static Attempt<bool> split_in(Tx& tx, const Reader& old, const Reader& born, u64 number) {
    const cuckoo::Word<8> word(old.word());
    if (!tx.upgrade(old)) return kRestart;
    const auto [here, there] = old->split_to(*born.node(), number, word);
    born->word.begin_with(there.word());
    tx.set_word(old, here.word());
    return true;
  }
};

/// A transaction that calls a function before it enters a node for the first time.
struct Interrupted : VersionedTx<Native> {
  using VersionedTx<Native>::VersionedTx;
  std::function<void()> interrupt;
  template <class N>
  auto enter(N* node) {
    if (interrupt) std::exchange(interrupt, nullptr)();
    return VersionedTx<Native>::enter(node);
  }
};

TEST_CASE("a bucket that was split twice since the guess does not lead beyond the memory of the table") {
  using Layout = VersionedLayout<Native>;
  using Table = growing::Table<Layout, cuckoo::FourBucket<Layout>>;
  Memory<Native> memory{MemoryConfig{}};
  PoolLease<Native> pool(memory);
  Table table;
  const auto grow = [&] {
    Table::Growth task, after;
    do {
      REQUIRE(task.prepare(*pool));
      VersionedTx<Native> tx(*pool);
      const auto step = table.grow_in(tx, task, after, Eager{});
      REQUIRE(step);
      tx.commit();
      if (*step == StepResult::kOneDone) {
        task.one_done();
      } else {
        task = after;
      }
    } while (!task.done());
  };
  while (table.seen().mask != (1u << 16) - 1 || table.seen().claimed != 0) grow();
  const u64 hash = 3u << 16;  // bucket 0, and of the next two splits the side without memory
  Interrupted tx(*pool);
  tx.interrupt = [&] {
    while (table.seen().mask != (1u << 17) - 1 || table.seen().claimed == 0) grow();
  };
  u64 b = table.guess(hash).number, word = 0;
  Table::ReaderOf<Interrupted> at;
  CHECK_FALSE(table.arrive(tx, hash, b, at, word));  // a restart
  b = table.guess(hash).number;
  CHECK(table.arrive(tx, hash, b, at, word));
  CHECK(b == 1u << 16);
  table.free_all(*pool);
}

TEST_CASE("an insert asks for at most a run of pages") {
  Synchronized<Cuckoo, None<Native>, U64Key> index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  u64 most = 0;
  for (u64 i = 0; i < 300'000; ++i) {
    const u64 before = index.bytes().room;
    index.insert(me, i, i);
    most = std::max(most, index.bytes().room - before);
  }
  CHECK(most == u64{256} << 10);
}

}  // namespace
}  // namespace latchlab::testing
