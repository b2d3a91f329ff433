// Batches of modifications: each is a modification of its own, in turn, whatever is prefetched for them.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/concepts.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/batching.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab {
namespace {

/// Returns what becomes of a value: it is added to, goes, or comes, depending on `chosen`.
Found changed_by(u64 chosen, const Found& before) noexcept {
  switch (chosen % 4) {
    case 0: return chosen;
    case 1: return before ? Found(*before + chosen) : Found();
    case 2: return Found();
    default: return before;
  }
}

template <class Index>
void check_batches(const char* policy) {
  using Raw = typename Index::Raw;
  static_assert(kModifiesBatches<Index>);
  constexpr u64 kKeys = 40;
  const u64 seed = test_seed();
  Rng rng(seed);
  Index index(Spec::parse(policy), {});
  auto me = index.join();
  std::vector<std::string> names;
  for (u64 key = 0; key < kKeys; ++key) names.push_back("key number " + std::to_string(key));
  const auto raw = [&](u64 key) -> Raw {
    if constexpr (std::is_same_v<Raw, u64>) {
      return key;
    } else {
      return names[key];
    }
  };
  std::map<u64, u64> model;
  for (u32 round = 0; round < 300; ++round) {
    const u64 count = rng.below(2 * kMostInAttempt + 2);  // of one attempt, and of more
    std::vector<u64> numbers, chosen;
    std::vector<Raw> keys;
    for (u64 i = 0; i < count; ++i) {
      numbers.push_back(rng.below(kKeys));  // so that keys occur several times in a batch
      chosen.push_back(rng.below(1000));
      keys.push_back(raw(numbers.back()));
    }
    std::vector<Modified> modified(count);
    index.modify_batch(
        me, keys, modified,
        [&chosen](std::size_t i, const Found& before) noexcept { return changed_by(chosen[i], before); },
        BatchOrder{static_cast<u8>(rng.below(3))});
    for (u64 i = 0; i < count; ++i) {
      const auto at = model.find(numbers[i]);
      const Found before = at == model.end() ? Found() : Found(at->second), after = changed_by(chosen[i], before);
      REQUIRE(modified[i].before == before);
      REQUIRE(modified[i].after == after);
      if (after) {
        model.insert_or_assign(numbers[i], *after);
      } else {
        model.erase(numbers[i]);
      }
    }
    for (u64 key = 0; key < kKeys; ++key) {
      const auto at = model.find(key);
      REQUIRE(index.find(me, raw(key)) == (at == model.end() ? Found() : Found(at->second)));
    }
  }
}

TEST_CASE("a batch of modifications does what they do one after the other") {
  check_batches<Synchronized<Art, Olc<Native>, BytesKey>>("olc");
  check_batches<Synchronized<Cuckoo, Olc<Native>, U64Key>>("olc");
  check_batches<Synchronized<Cuckoo, Spin<Native>, U64Key>>("spin");
  check_batches<ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>>>("olc");
}

}  // namespace
}  // namespace latchlab
