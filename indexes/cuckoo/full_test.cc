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

constexpr u64 kSlots = 4 << 16;  // so that no bucket is a small one

TEST_CASE("cuckoo: a table that may not grow fills to load .92 with any pattern of keys, and says that it is full",
          "[no-tsan]") {  // one thread
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
                              {"upper bits", [](u64 n) { return n << 44; }}};
  Rng rng(test_seed());
  for (const Pattern& pattern : patterns) {
    for (const u64 seed : {u64{0}, rng()}) {
      INFO(pattern.name << ", seed " << seed);
      Table table("most_slots=" + std::to_string(kSlots + 3) + ",seed=" + std::to_string(seed));
      const u64 keys = table.fill(pattern.key_at);
      CHECK(keys >= kSlots * 92 / 100);
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
  CHECK(inserted >= kSlots * 92 / 100);
  u64 wrong = 0;
  for (u64 n = 0; n < next; ++n) wrong += table.has(mix64(n)) != (there[n] != 0);
  CHECK(wrong == 0);
}

TEST_CASE(
    "cuckoo: keys chosen to collide are refused before they fill the memory, and with another seed they are ordinary "
    "keys") {
  std::vector<u64> keys;  // of one tag, with homes that end in twenty zeros: all share two buckets
  for (u64 i = 0; i < 100; ++i) keys.push_back(unmixed(i << 20));
  Table known("seed=0"), secret("seed=" + std::to_string(Rng(test_seed())()));
  CHECK(known.fill([&](u64 n) { return keys.at(n); }) == 8);
  CHECK(known.bytes() < u64{20} << 20);
  CHECK(std::all_of(keys.begin(), keys.begin() + 8, [&](u64 key) { return known.has(key); }));
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
  Body body(cuckoo::Options<4>{.most_slots = 32});  // eight buckets
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
      const auto insert = [&](auto& tx) { return body.put_in(tx, U64Key(key), SetTo(key), Put::kInsert); };
      if (house.policy.write(me, insert) != PutResult::kNoRoom) return true;
      for (Body::Growth growth = Body::Growth::for_room(); !growth.done();) {
        if (step(growth, key) == StepResult::kFull) return false;
      }
    }
  };
  for (u32 i = 0; i < 14; ++i) REQUIRE(put(number_of<FourId>(i % 4, i % 4, i / 4)));  // four buckets are nearly full
  Body::Growth late[2];  // the last doubling is claimed, and no thread splits
  for (u32 i = 0; i < 3; ++i) step(late[0]);
  for (u32 i = 0; i < 2; ++i) step(late[1]);
  u64 keys = 14;
  while (put(keys * keys + 1'000'000)) ++keys;
  CHECK(keys >= 28);
  for (Body::Growth& growth : late) {
    while (!growth.done()) step(growth);
  }
  body.free_all(*me.pool);
}

TEST_CASE("cuckoo: a split keeps the tags of two strays that are alike, if it cannot bring them home") {
  using Policy = None<Native>;
  using Body = Cuckoo<Policy::Layout, U64Key>;
  House<Policy> house("none");
  House<Policy>::ThreadState me(house);
  Body body;
  const auto put = [&](u64 hash) {
    const auto insert = [&](auto& tx) { return body.put_in(tx, U64Key(unmix64(hash)), SetTo(hash), Put::kInsert); };
    return house.policy.write(me, insert) == PutResult::kYes;
  };
  const auto has = [&](u64 hash) {
    return house.policy.read(me, [&](auto& tx) { return body.find_in(tx, U64Key(unmix64(hash))); }).has_value();
  };
  const auto step = [&](Body::Growth& growth) {  // returns false when the task is done
    REQUIRE(growth.prepare(*me.pool));
    Body::Growth after;
    const StepResult stepped =
        house.policy.write(me, [&](auto& tx) { return body.maintain_in(tx, U64Key(0), growth, after); });
    if (stepped == StepResult::kOneDone) {
      growth.one_done();
    } else {
      growth = after;
    }
    return !growth.done();
  };
  const auto run = [&](Body::Growth growth) {
    while (step(growth)) {}
  };
  u64 counted = 0;  // a counted key stands for 64
  const auto count = [&] {
    REQUIRE(put((70 + counted) | (counted + 1) << 16 | u64{200} << 56));
    ++counted;
  };
  count();
  count();
  for (u32 i = 0; i < 40; ++i) run({});  // 128 buckets
  constexpr u64 kHome = 127, kNotCounted = u64{1} << 32;
  u64 top = 1, other = 0;  // bits 56..63 of hashes whose other bucket the next doubling splits first
  for (;; ++top) {
    other = (kHome ^ cuckoo::Hashes::jump(cuckoo::Hashes(top << 56).tag())) & 127;
    if (other < 64 && other > 3) break;
  }
  for (u64 i = 0; i < 3; ++i) REQUIRE(put(kHome | kNotCounted | (i + 1) << 20 | (255 - top) << 56));
  const u64 one = kHome | kNotCounted | u64{1} << 40 | top << 56, two = kHome | kNotCounted | u64{2} << 40 | top << 56;
  REQUIRE(put(one));
  REQUIRE(put(two));  // both are strays, and have the same tag
  while (counted < 7) count();
  run({});  // splits buckets 0 to 63
  Body::Growth late;
  REQUIRE(step(late));  // asks for memory
  REQUIRE(step(late));  // claims buckets 64 to 127, and does not split them
  run({});              // the next doubling splits buckets 0 to 63 again, and with them the bucket of the strays
  while (step(late)) {}
  CHECK(has(one));
  CHECK(has(two));
  CHECK(house.policy.write(me, [&](auto& tx) { return body.erase_in(tx, U64Key(unmix64(one)), AnyValue()); }));
  CHECK(has(two));
  CHECK_FALSE(put(two));
  body.free_all(*me.pool);
}

TEST_CASE("cuckoo: resolved options are those in effect") {
  const auto resolved = [](const char* spec) { return cuckoo::Options<4>::parse(Spec::parse(spec)).resolved(); };
  using Options = std::vector<std::pair<std::string, std::string>>;
  const std::string best(word(cuckoo::Options<4>::best_isa()));
  CHECK(resolved("cuckoo") == Options{{"slots", "4"}, {"most_slots", "0"}, {"seed", "0"}, {"isa", best}});
  CHECK(resolved("cuckoo:most_slots=1000,seed=5") ==
        Options{{"slots", "4"}, {"most_slots", "768"}, {"seed", "5"}, {"isa", best}});
  CHECK(resolved("cuckoo:most_slots=1") == Options{{"slots", "4"}, {"most_slots", "12"}, {"seed", "0"}, {"isa", best}});
  CHECK(resolved("cuckoo:most_slots=23").at(1).second == "12");
  CHECK(resolved("cuckoo:most_slots=24").at(1).second == "24");
  CHECK(resolved("cuckoo:most_slots=262143").at(1).second == "98304");
  CHECK(resolved("cuckoo:most_slots=262144").at(1).second == "262144");  // from 2^16 buckets on, all have four
  CHECK_THROWS_AS(resolved("cuckoo:most=5"), InputError);
  CHECK(resolved("cuckoo:isa=sse4.2").at(3).second == "sse4.2");
  CHECK_FALSE(cuckoo::Options<4>::parse(Spec::parse("cuckoo:isa=sse4.2")).degraded());
  const auto wide = cuckoo::Options<4>::parse(Spec::parse("cuckoo:isa=avx512"));
  CHECK(wide.degraded().has_value() == (best != "avx512"));
  CHECK(wide.avx512() == (best == "avx512"));
  CHECK_THROWS_AS(resolved("cuckoo:isa=avx2"), InputError);
  CHECK_THROWS_AS(cuckoo::Options<7>::parse(Spec::parse("cuckoo7:isa=avx512")), InputError);
}

}  // namespace
}  // namespace latchlab::testing
