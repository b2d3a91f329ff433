// Tests of how and when `vip` learns.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "indexes/vip/vip.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using Alone = Synchronized<Vip, None<Native>, U64Key>;

/// Returns numbers that share a chain in a table of few keys.
std::vector<u64> one_chain(std::size_t keys) {
  std::vector<u64> out;
  for (u64 number = 0; out.size() < keys; ++number) {
    if (growing::low_bits(chained::hash_of(U64Key(number)), 20) == 1) out.push_back(number);
  }
  return out;
}

/// Inserts keys so that the first of them is first in its chain: while nothing has been learned, new keys come first.
template <class Index>
void insert_in_place(Index& index, typename Index::ThreadState& me, const std::vector<u64>& keys) {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) index.insert(me, *key, *key + 1);
}

template <class Index>
std::vector<u64> places(Index& index, typename Index::ThreadState& me, const std::vector<u64>& keys) {
  std::vector<u64> out;
  for (const u64 key : keys) out.push_back(index.visits(me, key));
  return out;
}

TEST_CASE("vip: learning puts a chain in the order in which its keys are popular") {
  Alone index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const std::vector<u64> keys = one_chain(4);
  insert_in_place(index, me, keys);
  CHECK(places(index, me, keys) == std::vector<u64>{1, 2, 3, 4});
  index.find(me, keys[0]);  // a thread's first lookup begins the learning
  for (const u64 i : {3, 3, 3, 1, 3, 1, 2, 0}) CHECK(index.find(me, keys[i]) == keys[i] + 1);
  CHECK(places(index, me, keys) == std::vector<u64>{4, 2, 3, 1});  // a key does not pass another that is found as often
  for (const u64 key : keys) CHECK(index.find(me, key) == key + 1);
}

TEST_CASE("vip: a thread of an earlier round of learning changes no counts of a later round") {
  Alone index(Spec::parse("none"), MemoryConfig{}, Spec::parse("vip:1"));
  auto early = index.join(), late = index.join();
  const std::vector<u64> keys = one_chain(4);
  insert_in_place(index, late, keys);
  index.find(early, keys[0]);
  for (u32 i = 0; i < 1100; ++i) index.find(late, keys[0]);  // learns, measures, rests
  for (u32 i = 0; i < 4000 && index.visits(late, keys[3]) != 1; ++i) index.find(late, keys[3]);
  REQUIRE(places(index, late, keys) == std::vector<u64>{2, 3, 4, 1});
  for (u32 i = 0; i < 10; ++i) index.find(early, keys[0]);
  CHECK(places(index, late, keys) == std::vector<u64>{2, 3, 4, 1});
}

TEST_CASE("vip: a key moves up by at most eight places at a time") {
  Alone index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const std::vector<u64> keys = one_chain(12);
  insert_in_place(index, me, keys);
  index.find(me, keys[0]);
  index.find(me, keys[11]);
  CHECK(places(index, me, keys) == std::vector<u64>{1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 4});
  index.find(me, keys[11]);
  CHECK(places(index, me, keys) == std::vector<u64>{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 1});
  for (const u64 key : keys) CHECK(index.find(me, key) == key + 1);
}

TEST_CASE("vip: moved keys are updated, erased and inserted like others") {
  Alone index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const std::vector<u64> keys = one_chain(5);
  insert_in_place(index, me, {keys.begin(), keys.end() - 1});
  for (const u64 i : {0, 2, 3, 3}) index.find(me, keys[i]);
  CHECK(places(index, me, {keys.begin(), keys.end() - 1}) == std::vector<u64>{3, 4, 2, 1});
  CHECK(index.update(me, keys[3], 7));
  CHECK(index.find(me, keys[3]) == 7);
  CHECK(index.erase(me, keys[3]));
  CHECK_FALSE(index.find(me, keys[3]));
  CHECK(index.insert(me, keys[4], 8));
  CHECK(places(index, me, {keys[2], keys[0], keys[1], keys[4]}) ==
        std::vector<u64>{1, 2, 3, 4});  // the new one is last
  for (const u64 key : keys) index.erase(me, key);
  u64 left = 0;
  index.for_each(me, [&](u64, u64) { ++left; });
  CHECK(left == 0);
}

/// A table with skewed lookups: the next 2^k keys together are looked up as often as the 2^k keys before them.
class Skewed {
 public:
  /// Makes the table. `draw` selects one of the sequences of lookups that the test seed determines.
  explicit Skewed(const std::string& options, u64 draw = 0)
      : index_(Spec::parse("olc"), MemoryConfig{}, Spec::parse(options)), me_(index_.join()), rng_(test_seed() + draw) {
    for (u64 i = 0; i < kKeys; ++i) index_.insert(me_, i, i);  // the most popular key is last in its chain
  }
  /// Looks up `times` keys. `key_of(rank)` is the key with this rank of popularity.
  void look_up(u64 times, const std::function<u64(u64)>& key_of) {
    u64 found = 0;
    for (u64 i = 0; i < times; ++i) {
      const u64 key = key_of(rank());
      found += index_.find(me_, key) == key;
    }
    CHECK(found == times);
  }
  double nodes(const std::function<u64(u64)>& key_of) {
    u64 sum = 0;
    constexpr u64 kTimes = 100'000;
    for (u64 i = 0; i < kTimes; ++i) sum += index_.visits(me_, key_of(rank()));
    return static_cast<double>(sum) / kTimes;
  }
  /// Returns the number of keys that were moved or passed.
  u64 copied() { return index_.reclaim_counters().retired; }

  static constexpr u64 kKeys = 8000, kEpoch = 8192 * 3 / 2;

 private:
  u64 rank() {
    const double part = static_cast<double>(rng_() >> 11) * 0x1p-53;
    return static_cast<u64>(std::exp2(part * std::log2(static_cast<double>(kKeys)))) % kKeys;
  }

  Synchronized<Vip, Olc<Native>, U64Key> index_;
  decltype(index_.join()) me_;
  Rng rng_;
};

TEST_CASE("vip: popular keys come first, and new ones again after the popularity has changed", "[release]") {
  const auto same = [](u64 rank) { return rank; };
  const auto reversed = [](u64 rank) { return Skewed::kKeys - 1 - rank; };
  Skewed skewed("vip:4");
  CHECK(skewed.nodes(same) > 1.3);
  skewed.look_up(2 * Skewed::kEpoch, same);
  CHECK(skewed.nodes(same) < 1.2);
  CHECK(skewed.nodes(reversed) > 1.3);
  skewed.look_up(7 * Skewed::kEpoch, reversed);  // the remaining rest, the sample, and a round of learning
  CHECK(skewed.nodes(reversed) < 1.2);
}

TEST_CASE("vip: it does not learn again when lookups have become better", "[release]") {
  const auto same = [](u64 rank) { return rank; };
  u64 learned_again = 0;
  for (u64 table = 0; table < 3; ++table) {
    Skewed skewed("vip:2", table);
    skewed.look_up(2 * Skewed::kEpoch, same);
    const u64 copied = skewed.copied();
    CHECK(copied > 1000);
    skewed.look_up(6 * Skewed::kEpoch, [](u64 rank) { return rank % 40; });  // the most popular keys only
    learned_again += skewed.copied() != copied;
    skewed.look_up(10 * Skewed::kEpoch, same);  // worse than before, though not worse than at first
    CHECK(skewed.copied() > copied + copied / 20);
  }
  CHECK(learned_again <= 1);  // a sample is above another "beyond doubt" by chance once in hundreds of tables
}

TEST_CASE("vip: a new key is last in a chain that was learned, also after a split, and first in any other") {
  Alone index(Spec::parse("none"), MemoryConfig{});
  auto me = index.join();
  const std::vector<u64> keys = one_chain(7);
  insert_in_place(index, me, {keys[1], keys[2]});
  index.insert(me, keys[0], 1);
  CHECK(places(index, me, {keys[0], keys[1], keys[2]}) == std::vector<u64>{1, 2, 3});
  for (const u64 i : {0, 0, 1}) index.find(me, keys[i]);  // counts them, and moves none
  index.insert(me, keys[3], 1);
  CHECK(places(index, me, {keys[0], keys[1], keys[2], keys[3]}) == std::vector<u64>{1, 2, 3, 4});
  for (u64 i = 0; i < 20'000; ++i) index.insert(me, mix64(i), i);  // doublings
  index.insert(me, keys[4], 1);
  CHECK(index.visits(me, keys[3]) < index.visits(me, keys[4]));
  for (u64 i = 0; i < 5; ++i) index.erase(me, keys[i]);
  for (u64 i = 0; i < 20'000; ++i) index.erase(me, mix64(i));
  index.insert(me, keys[5], 1);
  index.insert(me, keys[6], 1);
  CHECK(places(index, me, {keys[6], keys[5]}) == std::vector<u64>{1, 2});  // the empty chain has forgotten its order
}

TEST_CASE("vip: all operations pass the time until the next check") {
  vip::Watch watch;
  watch.rest(1, 10, 5);
  CHECK(watch.lookups(3) == 0);
  watch.pass(4);
  CHECK(watch.lookups(3) == 0);
  CHECK(watch.lookups(1) == 1);
  watch.learn(2, 3);
  CHECK(watch.lookups(1) == 1);
  watch.pass(2);
  CHECK_FALSE(watch.over());
  watch.pass(2);
  CHECK(watch.over());
}

TEST_CASE("vip: a sample is above another only if their confidence intervals do not overlap") {
  const auto sample = [](u64 ones, u64 twos) {
    vip::Watch watch;
    watch.measure(ones + twos);
    for (u64 i = 0; i < ones; ++i) watch.found_after(1);
    for (u64 i = 0; i < twos; ++i) watch.found_after(2);
    return watch.displacement(30);
  };
  CHECK(sample(500, 500).mean == 1.5);
  CHECK(sample(500, 500).width == Approx(std::sqrt(2 * .25 * std::log(20) / 1000)));
  CHECK(sample(300, 700).above(sample(700, 300)));
  CHECK_FALSE(sample(490, 510).above(sample(510, 490)));
  CHECK_FALSE(sample(29, 0).known());  // too few finds for any estimate
  CHECK_FALSE(sample(0, 29).above(sample(1000, 0)));
  CHECK_FALSE(sample(1000, 0).above(sample(29, 0)));
  CHECK(sample(0, 30).above(sample(1000, 0)));
}

TEST_CASE("vip: counts saturate, and a new round begins at 0") {
  vip::Popularity<CoarseLayout<Native>> popularity(3, ~u32{0} - 1);
  CHECK(popularity.next(3) == ~u32{0});
  popularity.note(3, ~u32{0});
  CHECK(popularity.next(3) == ~u32{0});
  CHECK(popularity.finds(4) == 0);
  CHECK(popularity.later(2));
  CHECK_FALSE(popularity.later(3));
  CHECK(popularity.next(4) == 1);
}

}  // namespace
}  // namespace latchlab::testing
