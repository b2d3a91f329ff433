// Cases of chained_line that the conformance suite does not cover: chains of many lines, their splits, and the keys
// that mark free slots.
#include "indexes/chained/chained_line.h"

#include <map>
#include <vector>

#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/unmixed.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

using Index = Synchronized<ChainedLine, Olc<Native>, U64Key>;

/// Returns number n of the keys that share one bucket until there are 2^12 buckets. With more buckets they are in two,
/// by `side`.
u64 crowded(u64 n, u64 side) { return unmixed(n << 20 | side << 12 | 5); }

TEST_CASE("chained_line: a lookup reads one line for three keys of a bucket, and another for each three more") {
  Index index(Spec::parse("olc"), {});
  auto me = index.join();
  for (u64 n = 0; n < 9; ++n) index.insert(me, crowded(n, 0), n);
  std::map<u64, u64> keys_after;  // number of keys that a lookup finds after this number of lines
  for (u64 n = 0; n < 9; ++n) ++keys_after[index.visits(me, crowded(n, 0))];
  CHECK(keys_after == std::map<u64, u64>{{1, 3}, {2, 3}, {3, 3}});
  CHECK(index.visits(me, crowded(9, 0)) == 3);
  for (u64 n = 3; n < 9; ++n) index.erase(me, crowded(n, 0));
  CHECK(index.visits(me, crowded(9, 0)) == 1);
}

TEST_CASE("chained_line: chains of many lines are split, however full their lines are") {
  Rng rng(test_seed());
  for (const u64 stay : {100, 40, 7, 0}) {  // percentage of the keys that remain
    INFO(stay);
    Index index(Spec::parse("olc"), {});
    auto me = index.join();
    std::map<u64, u64> model;
    for (u64 n = 0; n < 300; ++n) {
      const u64 key = crowded(n, rng() % 2);
      model[key] = n;
      REQUIRE(index.insert(me, key, n));
    }
    u64 wrong = 0;
    for (auto at = model.begin(); at != model.end();) {
      if (rng() % 100 < stay) {
        ++at;
      } else {
        wrong += !index.erase(me, at->first);
        at = model.erase(at);
      }
    }
    for (u64 n = 0; n < 40'000; ++n) {  // enough keys for 2^14 buckets
      model[mix64(n)] = n;
      wrong += !index.insert(me, mix64(n), n);
    }
    for (const auto& [key, value] : model) wrong += index.find(me, key) != value;
    CHECK(wrong == 0);
    std::map<u64, u64> seen;
    index.for_each(me, [&](u64 key, u64 value) { seen.emplace(key, value); });
    CHECK(seen == model);
  }
}

TEST_CASE("chained_line: the keys that mark free slots are legal keys too") {
  Index index(Spec::parse("olc"), {});
  auto me = index.join();
  for (const u64 key : chained::kKeyOfBit) {
    CHECK_FALSE(index.find(me, key));
    CHECK(index.insert(me, key, key + 1));
    CHECK(index.find(me, key) == key + 1);
    CHECK(index.erase(me, key));
    CHECK_FALSE(index.find(me, key));
  }
  CHECK(chained::kKeyOfBit[0] == 0);
}

}  // namespace
}  // namespace latchlab::testing
