// Counts what operations of chained tables execute under olc, and the lines that they read.
#include <cstdio>
#include <functional>

#include "indexes/chained/chained.h"
#include "indexes/chained/node.h"
#include "indexes/vip/vip.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/executed.h"
#include "sync/layout.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

struct Bounds {
  u64 update, insert;
};

template <template <class Layout, class Key> class Index>
void check_counts(const char* name, Bounds most) {
  Synchronized<Index, Olc<Native>, U64Key> index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  constexpr u64 kKeys = 180'000;  // in 2^17 buckets
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, mix64(i), i);
  const auto check = [&](const char* kind, u64 instructions, u64 locked, const std::function<void(u64 i)>& operation) {
    INFO(kind << " in " << name);
    const auto executed = executed_by_most(operation);
    if (!executed) {
      WARN("skipped: this system does not let a process trace another");
      return;
    }
    std::printf("%s in %s under olc: %lu instructions, %lu locked\n", kind, name, executed->instructions,
                executed->locked);
    CHECK(executed->instructions > 30);
    CHECK(executed->instructions <= instructions);
    CHECK(executed->locked == locked);
  };
  check("update", most.update, 1, [&](u64 i) { (void)index.update(me, mix64(i), i + 1); });
  check("insert", most.insert, 1, [&](u64 i) { (void)index.insert(me, mix64(kKeys + i), i); });
}

// The bounds leave a twentieth. One to six of the instructions ask whether threads park (waits.h). Some 30 instructions
// are of the call, and make the key.
TEST_CASE("chained and vip: under olc an update and an insert lock one instruction", "[release]") {
  check_counts<Chained>("chained", {152, 209});
  check_counts<Vip>("vip", {165, 229});
}

TEST_CASE("chained: an insert reads a chain of its bucket only if the filter may hold the key", "[release]") {
  Synchronized<Chained, Olc<Native>, U64Key> index(Spec::parse("olc"), MemoryConfig{});
  auto me = index.join();
  constexpr u64 kKeys = 180'000;  // 1.37 a bucket
  for (u64 i = 0; i < kKeys; ++i) index.insert(me, mix64(i), i);
  const auto misses = [&] {
    u64 nodes = 0;
    for (u64 i = 0; i < kKeys; ++i) nodes += index.visits(me, mix64(kKeys + i));
    return static_cast<double>(nodes) / kKeys;
  };
  CHECK(misses() < .25);  // without a filter 1.37
  CHECK(misses() > .1);
  // The table keeps its size while every key is replaced five times. Puts that are misled make filters exact again.
  for (u64 i = 0; i < 5 * kKeys; ++i) {
    REQUIRE(index.erase(me, mix64(i)));
    REQUIRE(index.insert(me, mix64(kKeys + i), i));
  }
  u64 nodes = 0;
  for (u64 i = 0; i < kKeys; ++i) nodes += index.visits(me, mix64(6 * kKeys + i));
  const double later = static_cast<double>(nodes) / kKeys;
  std::printf("nodes that a miss reads after five replacements of all keys: %.2f\n", later);
  CHECK(later < .6);
}

TEST_CASE("chained and vip: a node never straddles two lines") {
  Memory<Native> memory{MemoryConfig{}};
  PoolLease<Native> pool(memory);
  const auto check = [&](std::size_t bytes) {
    for (u32 i = 0; i < 1000; ++i) {
      const u64 start = reinterpret_cast<u64>(pool->allocate(bytes));
      REQUIRE(start % 32 == 0);  // chained::Word leaves out these bits
      REQUIRE(start / kLineBytes == (start + bytes - 1) / kLineBytes);
    }
  };
  using Layout = VersionedLayout<Native>;
  check(sizeof(chained::Node<Layout, U64Key, chained::NoMark>));
  check(sizeof(chained::Node<Layout, U64Key, vip::Popularity<Layout>>));
}

}  // namespace
}  // namespace latchlab::testing
