// Cases of kvdirect that the conformance suite does not cover: chains that grow and shrink, keys that hash alike, keys
// at the ends of buckets, a table that is full, and readers beside blocks that are used again at once.
#include "indexes/kvdirect/kvdirect.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/unmixed.h"
#include "sync/none.h"
#include "sync/seq.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

static_assert(sizeof(kvdirect::Line<CoarseLayout<Native>>) == kLineBytes);
static_assert(sizeof(kvdirect::Line<UnlatchedLayout<Native>>) == kLineBytes);

/// A table and the state of this thread.
template <class Policy = None<Native>>
struct Frugal {
  using Index = Synchronized<KvDirect, Policy, U64Key>;

  explicit Frugal(const std::string& options, const std::string& policy = "none")
      : index(Spec::parse(policy), {}, Spec::parse("kvdirect:" + options)), me(index.join()) {}
  bool insert(u64 key) { return index.insert(me, key, ~key); }
  bool erase(u64 key) { return index.erase(me, key); }
  bool has(u64 key) { return index.find(me, key) == ~key; }
  u64 visits(u64 key) { return index.visits(me, key); }
  std::map<u64, u64> all() {
    std::map<u64, u64> pairs;
    index.for_each(me, [&](u64 key, u64 value) { CHECK(pairs.emplace(key, value).second); });
    std::map<u64, u64> at_rest;
    index.for_each_at_rest(me, [&](u64 key, u64 value) { CHECK(at_rest.emplace(key, value).second); });
    CHECK(pairs == at_rest);
    return pairs;
  }

  Index index;
  typename Index::ThreadState me;
};

/// Returns a key in the first of several buckets, with this secondary hash.
u64 key_with(u32 tag, u32 nth) { return unmixed(u64{nth} << 16 | tag); }

/// A kind of table, and how many pairs its lines hold.
struct Kind {
  const char* options;
  u64 pairs_of_line;
  u64 of_record;  // accesses of a hit besides the lines
};
constexpr Kind kKinds[] = {
    {"buckets=20", 10, 1}, {"buckets=20,inline=16", 2, 0}, {"buckets=300", 3, 0}, {"buckets=300,inline=14", 10, 1}};

TEST_CASE("kvdirect: a chain grows by lines that are full, and gives them back", "[no-tsan]") {
  for (const Kind& kind : kKinds) {
    INFO(kind.options);
    Frugal<> table(kind.options);
    constexpr u64 kKeys = 60;
    u64 room = 0;
    for (u32 round = 0; round < 50; ++round) {
      for (u32 i = 0; i < kKeys; ++i) {
        REQUIRE(table.insert(key_with(i, i)));
        REQUIRE_FALSE(table.insert(key_with(i, i)));
        CHECK(table.visits(key_with(i, i)) == i / kind.pairs_of_line + 1 + kind.of_record);
      }
      CHECK(table.visits(key_with(500, 500)) == (kKeys - 1) / kind.pairs_of_line + 1);
      CHECK(table.all().size() == kKeys);
      // From the front: each line but the first leaves the chain when it is empty.
      for (u32 i = 0; i < kKeys; ++i) {
        REQUIRE(table.erase(key_with(i, i)));
        REQUIRE_FALSE(table.erase(key_with(i, i)));
        REQUIRE(std::ranges::all_of(std::array{i + 1, u32{kKeys} - 1}, [&](u32 left) {
          return left <= i || left == kKeys || table.has(key_with(left, left));
        }));
      }
      CHECK(table.visits(key_with(0, 0)) == 1);
      CHECK(table.all().empty());
      if (round == 0) room = table.index.bytes().live;
    }
    CHECK(table.index.bytes().live == room);  // each round used the blocks of the one before
  }
}

TEST_CASE("kvdirect: the room of an erased pair goes to the next one, in the first line that has it", "[no-tsan]") {
  for (const Kind& kind : kKinds) {
    INFO(kind.options);
    Frugal<> table(kind.options);
    const u32 keys = static_cast<u32>(3 * kind.pairs_of_line);
    for (u32 i = 0; i < keys; ++i) table.insert(key_with(i, i));
    for (const u32 gone : {0u, keys - 1, keys / 2, 1u}) {
      REQUIRE(table.erase(key_with(gone, gone)));
      REQUIRE(table.insert(key_with(gone, gone)));
      CHECK(table.visits(key_with(gone, gone)) == gone / kind.pairs_of_line + 1 + kind.of_record);
    }
    const u32 third = keys - 1;  // a key of the third line, and one of the first make room
    REQUIRE(table.erase(key_with(third, third)));
    REQUIRE(table.erase(key_with(0, 0)));
    REQUIRE(table.insert(key_with(third, third)));
    CHECK(table.visits(key_with(third, third)) == 1 + kind.of_record);
    REQUIRE(table.insert(key_with(0, 0)));
    CHECK(table.visits(key_with(0, 0)) == 3 + kind.of_record);
    for (u32 i = 0; i < keys; ++i) CHECK(table.has(key_with(i, i)));
  }
}

TEST_CASE("kvdirect: keys with the same secondary hash are told apart by their records", "[no-tsan]") {
  Frugal<> table("buckets=20");
  for (u32 i = 0; i < 30; ++i) REQUIRE(table.insert(key_with(77, i)));
  for (u32 i = 0; i < 30; ++i) {
    CHECK(table.has(key_with(77, i)));
    CHECK(table.visits(key_with(77, i)) == i / 10 + 1 + i + 1);  // the records before it are read, too
  }
  CHECK_FALSE(table.has(key_with(77, 30)));
  CHECK_FALSE(table.has(key_with(76, 0)));
  for (u32 i = 0; i < 30; i += 2) REQUIRE(table.erase(key_with(77, i)));
  for (u32 i = 0; i < 30; ++i) CHECK(table.has(key_with(77, i)) == (i % 2 != 0));
}

TEST_CASE("kvdirect: a bucket tells the first byte of each key that it has", "[no-tsan]") {
  Rng rng(test_seed());
  for (const u64 buckets :
       {u64{1}, u64{2}, u64{255}, u64{256}, u64{257}, u64{1000}, u64{65535}, 1 + rng.below(100'000)}) {
    INFO(buckets);
    Frugal<> table("buckets=" + std::to_string(buckets) + ",inline=16");
    std::map<u64, u64> model;
    const auto add = [&](u64 hash) {
      const u64 key = unmixed(hash);
      CHECK(table.insert(key) == model.emplace(key, ~key).second);
    };
    add(0), add(~u64{0});
    for (u32 i = 0; i < 2000; ++i) {
      const u64 number = rng.below(buckets);
      const auto first =
          static_cast<u64>((static_cast<long double>(number) * 0x1p64L) / static_cast<long double>(buckets));
      for (u64 hash = first - 1; hash != first + 3; ++hash) add(hash);
    }
    CHECK(table.all() == model);
    u64 wrong = 0;
    for (const auto& [key, value] : model) wrong += !table.has(key);
    CHECK(wrong == 0);
  }
}

TEST_CASE("kvdirect: a ratio that leaves too little room is refused") {
  CHECK_THROWS_WITH(kvdirect::Options::parse(Spec::parse("kvdirect:buckets=64,ratio=1")),
                    "index kvdirect: ratio=1 with 64 buckets leaves too little room for keys; give a smaller ratio");
  CHECK(kvdirect::Options::parse(Spec::parse("kvdirect:buckets=64,ratio=1,inline=16")).most_keys() == 1);
}

TEST_CASE("kvdirect: with a ratio the table is full at some point, and has room for as many keys as it says",
          "[no-tsan]") {
  for (const std::string options :
       {"buckets=1000,ratio=0.5", "buckets=1000,ratio=0.8", "buckets=1000,ratio=0.25,inline=8", "buckets=100,ratio=0.5",
        "buckets=1000,ratio=1"}) {
    INFO(options);
    Frugal<> table(options);
    u64 keys = 0, refused = 0;
    CHECK_THROWS_AS(
        [&] {
          for (; keys < 100'000; ++keys) refused += !table.insert(keys);
        }(),
        IndexFull);
    CHECK(refused == 0);
    const auto given = kvdirect::Options::parse(Spec::parse("kvdirect:" + options));
    CHECK(keys >= given.most_keys());
    CHECK_THROWS_AS(table.index.upsert(table.me, keys, 1), IndexFull);
    CHECK_FALSE(table.index.update(table.me, keys, 1));
    CHECK(table.all().size() == keys);
    const double bytes = static_cast<double>(given.least_bytes()) / given.ratio;
    CHECK(static_cast<double>(table.index.bytes().room) <= bytes + 4096);
    for (u64 key = 0; key < keys; ++key) REQUIRE(table.erase(key));
    for (u64 key = 0; key < keys; ++key) REQUIRE(table.insert(key));  // in the same room
  }
}

/// Readers look up keys that stay, while a writer inserts and erases others in the same chains.
template <class Policy>
void check_readers(const std::string& policy, const std::string& options) {
  INFO(policy << ", " << options);
  constexpr u64 kStay = 200, kFleeting = 40, kReaders = 2, kChanges = kSanitized ? 20'000 : 200'000;
  Frugal<Policy> table(options, policy);
  for (u64 key = 0; key < kStay; ++key) REQUIRE(table.insert(key));
  std::atomic<u64> last{kStay}, wrong{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (u64 reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&, reader] {
      auto mine = table.index.join();
      Rng rng(reader);
      u64 bad = 0;
      while (!stop.load(kRelaxed)) {
        const u64 key = rng.below(kStay);
        bad += table.index.find(mine, key) != ~key;
        const u64 fleeting = last.load(kRelaxed) - rng.below(2 * kFleeting);
        const auto seen = table.index.find(mine, fleeting);
        bad += seen && *seen != ~fleeting;
        if (rng.below(256) != 0) continue;
        u64 visited = 0;
        table.index.for_each(mine, [&](u64 at, u64 value) {
          bad += value != ~at;
          visited += at < kStay;
        });
        bad += visited != kStay;
      }
      wrong += bad;
    });
  }
  u64 refused = 0;
  for (u64 key = kStay; key < kStay + kChanges; ++key) {
    last.store(key, kRelaxed);
    refused += !table.insert(key);
    if (key >= kStay + kFleeting) refused += !table.erase(key - kFleeting);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(refused == 0);
  CHECK(wrong == 0);
}

TEST_CASE("kvdirect: a reader sees no pair of another key in a block that is used again") {
  for (const char* options : {"buckets=8", "buckets=8,inline=16"}) {
    check_readers<Striped<Native>>("striped:64", options);
    check_readers<Seq<Native>>("seq", options);
  }
}

}  // namespace
}  // namespace latchlab::testing
