// Tests of byte strings by their hash, with hash functions under which many keys collide. (The conformance suite and
// the histories of threads run the real hash, in every pair of this build.)
#include <memory>
#include <string>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "indexes/by_hash.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/erased_testing.h"
#include "indexes/seeded_test.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "src/testing/oracle.h"
#include "sync/hybrid.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// A hash with kHashes values.
template <u64 kHashes>
struct Colliding {
  static u64 of(std::string_view key) { return key.empty() ? 0 : static_cast<u8>(key.back()) % kHashes; }
};

template <class Policy>
using OnOneHash = ByHash<Synchronized<Cuckoo, Policy, U64Key>, Colliding<1>>;
template <class Policy>
using OnThreeHashes = ByHash<Synchronized<Chained, Policy, U64Key>, Colliding<3>>;

template <class Index>
void compare(const std::string& policy) {
  ErasedOf<Index> index(Spec::parse(policy), MemoryConfig{}, Spec::parse("any"));
  const u64 empty = index.bytes().live - index.bytes().room;
  {
    StringSession session(index);
    Oracle<StringSession> oracle(session, false);
    std::vector<std::string> keys{"", std::string(1, '\0'), std::string(2, '\0'), std::string("\0a", 2)};
    for (u32 i = 0; i < 12; ++i) keys.push_back(std::string(i, 'k') + static_cast<char>('a' + i % 5));
    keys.push_back(std::string(65'536, 'x'));
    keys.push_back(std::string(65'536, 'x') + 'y');
    Rng rng(1);
    for (u32 i = 0; i < 20'000 && oracle.ok(); ++i) {
      const u32 adds = i / 2000 % 2 == 0 ? 50 : 15;
      oracle.random_operation(rng, keys[rng.below(keys.size())], adds, 65 - adds);
      if (i % 500 == 0) oracle.compare_all();
    }
    oracle.find_batch(keys, BatchOrder::kSideBySide);
    for (const std::string& key : keys) oracle.erase(key);
    oracle.compare_all();
    CHECK(oracle.complaint() == "");
  }
  CHECK(index.bytes().live - index.bytes().room == empty);
}

TEST_CASE("ByHash: keys with equal hashes are told apart", "[no-tsan]") {  // one thread
  compare<OnOneHash<None<Native>>>("none");
  compare<OnOneHash<Olc<Native>>>("olc");
  compare<OnOneHash<Rtm<Emulated>>>("rtm:2");
  compare<OnThreeHashes<Spin<Native>>>("spin");
  compare<OnThreeHashes<Hybrid<Emulated>>>("hybrid:2");
}

/// Inserts and erases keys of 64 KiB in a memory with room for 80 of them, more often than fit.
template <class Index>
void churn_large_keys(MemoryConfig::Alloc alloc) {
  Index index(Spec::parse("olc"), {.alloc = alloc, .limit = u64{80} * 80 << 10});
  auto me = index.join();
  for (u64 i = 0; i < 500; ++i) {
    const std::string key = std::to_string(i) + std::string(64 << 10, 'k');
    REQUIRE(index.insert(me, key, i));
    REQUIRE(index.erase(me, key));
  }
}

TEST_CASE("ByHash: the garbage of large keys stays within a small limit of memory", "[no-tsan]") {  // one thread
  for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
    INFO(word(alloc));
    churn_large_keys<ByHash<Synchronized<Cuckoo, Olc<Native>, U64Key>>>(alloc);
    churn_large_keys<Synchronized<Art, Olc<Native>, BytesKey>>(alloc);
  }
}

/// Keys that share one hash, or two.
std::vector<RaceMix<std::string>> chain_mixes() {
  return {
      {"one key alone", {"a"}, {}, {"a"}, {3, 3, 3, 1, 4, 0}},
      {"two keys of one hash", {"a"}, {}, {"a", "aa"}, {4, 4, 3, 1, 5, 0}},
      {"the middle of a chain", {"a", "aa", "ba"}, {}, {"a", "aa", "ba", "ca"}, {4, 3, 2, 1, 6, 0}},
      {"walks over chains", {"a", "aa", "ba", "b"}, {}, {"aa", "ca", "ab", "ba"}, {0, 4, 2, 1, 5, 3}},
      {"two chains", {"a", "b"}, {"b"}, {"a", "b", "aa", "ab"}, {4, 4, 2, 1, 5, 0}},
  };
}

template <class Policy>
using TinyByHash = ByHash<Synchronized<Cuckoo, Tiny<Policy>, U64Key>, Colliding<2>>;

TEST_CASE("Races: byte strings by colliding hashes", "[race]") {
  explore<TinyByHash<Olc<Simulated>>>(chain_mixes(), "olc", {});
  explore<TinyByHash<Rtm<Simulated>>>(chain_mixes(), "rtm:1", {.abort_rate = 0.2});
  explore<TinyByHash<Hybrid<Simulated>>>(chain_mixes(), "hybrid:2", {.abort_rate = 0.2});
  explore<TinyByHash<Spin<Simulated>>>(chain_mixes(), "spin", {});
}

TEST_CASE("Seeded bugs: the race finder finds each dropped step of byte strings by their hash", "[race][no-asan]") {
  using Index = TinyByHash<Olc<Simulated, BugsOnRequest>>;
  const auto run = [] {
    ProgramsReport all;
    for (const auto& mix : chain_mixes()) {
      const ProgramsReport one =
          run_programs<Index>(mix, "olc", kSearchedPrograms, {.schedules = kRaceSchedules / kRacePrograms});
      all.schedules += one.schedules;
      all.failures += one.failures;
      all.message = one.message;
      if (all.failures != 0) break;
    }
    return all;
  };
  CHECK(caught("by_hash: epoch", by_hash::BugFlags<bool>::kDropEpoch, run));
  CHECK(caught("by_hash: hash", by_hash::BugFlags<bool>::kTrustHash, run));
  CHECK(caught("by_hash: link cut", by_hash::BugFlags<bool>::kCutLink, run));
  CHECK(caught("by_hash: freed at once", by_hash::BugFlags<bool>::kFreeAtOnce, run));
}

}  // namespace
}  // namespace latchlab::testing
