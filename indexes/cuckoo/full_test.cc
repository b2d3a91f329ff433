// Tests of cuckoo tables with a limit: how full they become with any keys, and how they treat keys chosen to collide.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "indexes/cuckoo/cuckoo.h"
#include "indexes/cuckoo/race_mixes_test.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/unmixed.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/policy_testing.h"
#include "sync/synchronized.h"
#include "sync/tiny_testing.h"

namespace latchlab::testing {
namespace {

using Index = Synchronized<Cuckoo, Olc<Native>, U64Key>;

class Table {
 public:
  explicit Table(const std::string& options)
      : index_(Spec::parse("olc"), {}, Spec::parse("cuckoo:" + options)), me_(index_.join()) {}

  bool insert(u64 key) { return index_.insert(me_, key, ~key); }
  bool upsert(u64 key) { return index_.upsert(me_, key, ~key); }
  bool update(u64 key) { return index_.update(me_, key, ~key); }
  bool erase(u64 key) { return index_.erase(me_, key); }
  bool has(u64 key) { return index_.find(me_, key) == ~key; }
  u64 bytes() const { return index_.bytes().reserved; }
  Index& index() { return index_; }
  /// Inserts key number 0, 1, 2, ... until the table is full. Returns the number of inserted keys.
  template <class KeyAt>
  u64 fill(const KeyAt& key_at) {
    for (u64 n = 0;; ++n) {
      bool inserted = false;
      try {
        inserted = insert(key_at(n));
      } catch (const IndexFull&) {
        return n;
      }
      REQUIRE(inserted);
    }
  }

 private:
  Index index_;
  Index::ThreadState me_;
};

constexpr u64 kSlots = 7 << 12;

TEST_CASE("cuckoo: a table that may not grow fills to load .95 with any pattern of keys, and says that it is full") {
  struct Pattern {
    const char* name;
    u64 (*key_at)(u64 n);
  };
  const Pattern patterns[] = {{"random", [](u64 n) { return mix64(mix64(n)); }},
                              {"dense", [](u64 n) { return n; }},
                              {"downwards", [](u64 n) { return ~n; }},
                              {"multiples of 2^12", [](u64 n) { return n << 12; }},
                              {"multiples of 2^32", [](u64 n) { return n << 32; }},
                              {"multiples of 2^32 + 1", [](u64 n) { return n << 32 | n; }},
                              {"upper bits", [](u64 n) { return n << 49; }}};
  Rng rng(test_seed());
  for (const Pattern& pattern : patterns) {
    for (const u64 seed : {u64{0}, rng()}) {
      INFO(pattern.name << ", seed " << seed);
      Table table("most_slots=" + std::to_string(kSlots + 6) + ",seed=" + std::to_string(seed));
      const u64 keys = table.fill(pattern.key_at);
      CHECK(keys >= kSlots * 95 / 100);
      CHECK(keys <= kSlots);
      const u64 refused = pattern.key_at(keys);
      CHECK_FALSE(table.has(refused));
      CHECK_THROWS_AS(table.upsert(refused), IndexFull);
      CHECK_FALSE(table.update(refused));
      u64 wrong = 0;
      for (u64 n = 0; n < keys; ++n) wrong += !table.has(pattern.key_at(n)) || table.insert(pattern.key_at(n));
      CHECK(wrong == 0);
      for (u64 n = 0; n < keys; n += 2) wrong += !table.erase(pattern.key_at(n));
      CHECK(table.insert(refused));  // there is room again
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("cuckoo: threads that fill a table completely lose no key") {
  Table table("most_slots=" + std::to_string(kSlots));
  std::atomic<u64> next{0}, inserted{0};
  std::vector<char> there(2 * kSlots);
  const auto fill = [&] {
    auto me = table.index().join();
    for (u32 refused = 0; refused < 100;) {
      const u64 n = next.fetch_add(1);
      try {
        there[n] = table.index().insert(me, mix64(n), ~mix64(n));
        ++inserted;
      } catch (const IndexFull&) {
        ++refused;
      }
    }
  };
  std::thread other(fill);
  fill();
  other.join();
  CHECK(inserted >= kSlots * 95 / 100);
  u64 wrong = 0;
  for (u64 n = 0; n < next; ++n) wrong += table.has(mix64(n)) != (there[n] != 0);
  CHECK(wrong == 0);
}

TEST_CASE(
    "cuckoo: keys chosen to collide are refused before they fill the memory, and with another seed they are ordinary "
    "keys") {
  std::vector<u64> keys;  // in both hashes the last twenty bits are zero
  for (u64 i = 0; i < 10; ++i) {
    for (u64 j = 0; j < 10; ++j) keys.push_back(unmixed(i << 52 | j << 20));
  }
  Table known("seed=0"), secret("seed=" + std::to_string(Rng(test_seed())()));
  CHECK(known.fill([&](u64 n) { return keys.at(n); }) == 7);
  CHECK(known.bytes() < u64{20} << 20);
  CHECK(std::all_of(keys.begin(), keys.begin() + 7, [&](u64 key) { return known.has(key); }));
  CHECK(known.insert(1));
  u64 wrong = 0;
  for (const u64 key : keys) wrong += !secret.insert(key);
  for (const u64 key : keys) wrong += !secret.has(key);
  CHECK(wrong == 0);
  CHECK(secret.bytes() < u64{1} << 20);
}

TEST_CASE("cuckoo: a table is not full while a thread has not done its splits") {
  using Policy = Tiny<None<Native>>;  // begins with two buckets, claims two at a time, and counts every key
  using Body = Cuckoo<Policy::Layout, U64Key>;
  House<Policy> house("none");
  House<Policy>::ThreadState me(house);
  Body body(cuckoo::Options{.most_slots = 56, .seed = 0});  // eight buckets
  const auto step = [&](Body::Growth& growth, u64 key = 0) {
    REQUIRE(growth.prepare(*me.pool));
    Body::Growth after;
    const StepResult stepped =
        house.policy.write(me, [&](auto& tx) { return body.maintain_in(tx, U64Key(key), growth, after); });
    if (stepped == StepResult::kOneDone) growth.one_done();
    if (stepped == StepResult::kChanged) growth = after;
    return stepped;
  };
  const auto put = [&](u64 key) {
    for (;;) {
      const auto insert = [&](auto& tx) { return body.put_in(tx, U64Key(key), key, Put::kInsert); };
      if (house.policy.write(me, insert) != PutResult::kNoRoom) return true;
      for (Body::Growth growth = Body::Growth::for_room(); !growth.done();) {
        if (step(growth, key) == StepResult::kFull) return false;
      }
    }
  };
  for (u32 i = 0; i < 27; ++i) REQUIRE(put(number_of(i % 4, i % 4, i / 4)));  // four buckets are nearly full
  Body::Growth late[2];  // the last doubling is claimed, and no thread splits
  for (u32 i = 0; i < 3; ++i) step(late[0]);
  for (u32 i = 0; i < 2; ++i) step(late[1]);
  u64 keys = 27;
  while (put(keys * keys + 1'000'000)) ++keys;
  CHECK(keys >= 50);
  for (Body::Growth& growth : late) {
    while (!growth.done()) step(growth);
  }
  body.free_all(*me.pool);
}

TEST_CASE("cuckoo: resolved options are those in effect") {
  const auto resolved = [](const char* spec) { return cuckoo::Options::parse(Spec::parse(spec)).resolved(); };
  using Options = std::vector<std::pair<std::string, std::string>>;
  CHECK(resolved("cuckoo") == Options{{"most_slots", "0"}, {"seed", "0"}});
  CHECK(resolved("cuckoo:most_slots=1000,seed=5") == Options{{"most_slots", "896"}, {"seed", "5"}});
  CHECK(resolved("cuckoo:most_slots=1") == Options{{"most_slots", "14"}, {"seed", "0"}});
  CHECK(resolved("cuckoo:most_slots=14").front().second == "14");
  CHECK(resolved("cuckoo:most_slots=28").front().second == "28");
  CHECK_THROWS_AS(resolved("cuckoo:most=5"), InputError);
}

}  // namespace
}  // namespace latchlab::testing
