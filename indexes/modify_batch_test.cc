// Batches of modifications: each is a modification of its own, in turn, whatever is prefetched for them.
#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/concepts.h"
#include "indexes/cuckoo/cuckoo.h"
#include "src/base/batching.h"
#include "src/base/rng.h"
#include "src/machine/native.h"
#include "src/memory/memory_config.h"
#include "src/testing/catch.h"
#include "sync/olc.h"
#include "sync/rtm.h"
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

/// Returns the key as the index takes it.
template <class Raw>
Raw raw_key(u64 key, const std::vector<std::string>& names) {
  if constexpr (std::is_same_v<Raw, u64>) {
    return key;
  } else {
    return names[key];
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
  const auto raw = [&](u64 key) { return raw_key<Raw>(key, names); };
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
  check_batches<Synchronized<Art, Rtm<Native>, BytesKey>>("rtm:3");
  check_batches<ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>>>("olc");
}

/// Modifies batches whose n-th allocation fails, beside a thread that is quiet. The modifications before the failure
/// must stay done, and no other may be. Those that are left are the next batch. The last batches erase.
template <class Index>
void starve_batches(const char* policy, MemoryConfig::Alloc alloc, Reclaim reclaim) {
  INFO(policy << ", " << word(alloc) << ", " << word(reclaim));
  using Raw = typename Index::Raw;
  constexpr u64 kKeys = 300, kBatch = 100, kRounds = 16;  // a batch is more than one group of prefetches
  constexpr u64 kUntouched = ~u64{0};
  const auto untouched = [kUntouched](const Modified& one) {
    return one.before == kUntouched && one.after == kUntouched;
  };
  Rng rng(test_seed());
  std::vector<std::string> names;
  for (u64 key = 0; key < kKeys; ++key) names.push_back("key number " + std::to_string(key));
  FailurePlan plan;
  const MemoryBudget limit(u64{1} << 40);  // for its count of bytes
  u64 refused = 0;
  {
    Index index(Spec::parse(policy), {.alloc = alloc, .reclaim = reclaim, .limit = limit, .fail = &plan});
    std::optional me(index.join()), quiet(index.join());
    CHECK_FALSE(index.find(*quiet, raw_key<Raw>(0, names)));
    std::map<u64, u64> model;
    for (u64 round = 0; round < kRounds; ++round) {
      std::vector<u64> numbers, chosen;
      std::vector<Raw> keys;
      for (u64 i = 0; i < kBatch; ++i) {
        const bool erases = round >= kRounds - kKeys / kBatch;  // each key once
        numbers.push_back(erases ? (kRounds - 1 - round) * kBatch + i : rng.below(kKeys));
        chosen.push_back(erases ? 2 : rng.below(1000));
        keys.push_back(raw_key<Raw>(numbers.back(), names));
      }
      std::size_t done = 0;
      for (u64 n = 1; done < kBatch; ++n) {
        REQUIRE(n < 1000);
        std::vector<Modified> modified(kBatch - done, Modified{kUntouched, kUntouched});
        bool threw = false;
        plan.arm(n, round % 2 == 0 ? FailurePlan::Then::kOnce : FailurePlan::Then::kForEver);
        try {
          index.modify_batch(
              *me, std::span<const Raw>(keys).subspan(done), modified,
              [&](std::size_t i, const Found& before) noexcept { return changed_by(chosen[done + i], before); },
              BatchOrder{static_cast<u8>(n % 3)});
        } catch (const std::bad_alloc&) {
          threw = true;
        }
        plan.disarm();
        refused += threw;
        const auto rest = std::ranges::find_if(modified, untouched);
        REQUIRE(std::all_of(rest, modified.end(), untouched));
        REQUIRE(threw == (rest != modified.end()));
        for (auto one = modified.begin(); one != rest; ++one, ++done) {
          const auto at = model.find(numbers[done]);
          const Found before = at == model.end() ? Found() : Found(at->second);
          REQUIRE(one->before == before);
          REQUIRE(one->after == changed_by(chosen[done], before));
          if (one->after) {
            model.insert_or_assign(numbers[done], *one->after);
          } else {
            model.erase(numbers[done]);
          }
        }
        for (u64 key = 0; key < kKeys; ++key) {
          const auto at = model.find(key);
          REQUIRE(index.find(*me, raw_key<Raw>(key, names)) == (at == model.end() ? Found() : Found(at->second)));
        }
      }
    }
    CHECK(model.empty());
    CHECK(refused > 20);
    quiet.reset();
    me.reset();
    index.join();
    if (reclaim != Reclaim::kLeak) CHECK(index.bytes().live == index.bytes().room);
  }
  CHECK(limit.charged() == 0);
}

template <class Index>
void starve_batches(const char* policy) {
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    for (const Reclaim reclaim : {Reclaim::kEpoch, Reclaim::kEpochFence, Reclaim::kQsbr, Reclaim::kLeak})
      starve_batches<Index>(policy, alloc, reclaim);
  }
}

TEST_CASE("a batch of modifications that runs out of memory has done those before, and no other", "[no-tsan]") {
  starve_batches<Synchronized<Art, Olc<Native>, BytesKey>>("olc");  // one thread
  starve_batches<Synchronized<Art, Spin<Native>, BytesKey>>("spin");
  starve_batches<Synchronized<Chained, Olc<Native>, U64Key>>("olc");
  starve_batches<ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>>>("olc");
}

}  // namespace
}  // namespace latchlab
