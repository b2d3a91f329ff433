// Runs every pair of this build with four threads that are interrupted inside their operations, on few keys and on
// many. The histories must be linearizable, and the index must free all of its memory. Every third mix runs
// on a pair, another third on the next pair; in ./test --all every mix does.
//
// seeded_threads_test.cc shows that such histories find bugs.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/pairs_test.h"
#include "indexes/threads_history_test.h"
#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "src/testing/thorough.h"

namespace latchlab::testing {
namespace {

/// Returns a mix in which a random half of the keys is preloaded. The threads use `hot` neighbours among all keys.
RaceMix<std::string> mix_of(std::string name, std::vector<std::string> keys, std::size_t hot, u32 ops_each) {
  std::erase_if(keys, [](const std::string& key) { return key.size() >= 1000; });
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  Rng rng(test_seed());
  const std::size_t count = std::min(hot, keys.size());
  const auto first = keys.begin() + static_cast<std::ptrdiff_t>(rng.below(keys.size() - count + 1));
  RaceMix<std::string> mix{.name = std::move(name),
                           .preload = {},
                           .erased = {},
                           .hot = {first, first + static_cast<std::ptrdiff_t>(count)},
                           .weights = {5, 5, 2, 2, 4, 1},
                           .ops_each = ops_each};
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(mix.preload),
               [&](const std::string&) { return rng.below(2) == 0; });
  return mix;
}

/// Returns mixes of a few keys of each pattern, so that threads meet in every shape of a node. The last mix has a
/// quarter of all keys, so that tables grow.
std::vector<RaceMix<std::string>> mixes_of(KeyKind kind) {
  std::vector<RaceMix<std::string>> mixes;
  std::vector<std::string> many;
  Rng rng(test_seed());
  for (const KeyPattern& pattern : patterns_of(kind)) {
    mixes.push_back(mix_of(pattern.name, pattern.keys, 8, 200));
    std::copy_if(pattern.keys.begin(), pattern.keys.end(), std::back_inserter(many),
                 [&](const std::string&) { return rng.below(4) == 0; });
  }
  mixes.push_back(mix_of("keys of all patterns", many, many.size(), kSanitized ? 1000 : 5000));
  return mixes;
}

void check_history(const Pair& pair, const RaceMix<std::string>& mix, u32 threads) {
  INFO(mix.name << ", " << threads << " threads");
  const auto index = pair.make_index(Spec::parse(pair.policy), {}, Spec::parse(pair.index));
  const u64 empty = index->bytes().live - index->bytes().room;
  const RaceProgram<std::string> program = draw_program(mix, test_seed(), threads);
  CHECK(ThreadsHistory(*index, program).run(test_seed()) == "");
  if (pair.no_erase.empty()) {
    StringSession session(*index);
    for (const std::string& key : program.keys) session.erase(key);
  }
  // A peer may keep its buckets.
  if (pair.own_memory.empty()) CHECK(index->bytes().live - index->bytes().room == empty);
}

void check_mix(const Pair& pair, RaceMix<std::string> mix) {
  if (!pair.no_erase.empty()) mix.weights[static_cast<std::size_t>(RaceVerb::kErase)] = 0;
  // Threads queue for these locks, so all of them wait whenever the next one in the queue is descheduled. Under ffwd
  // all wait whenever the server is.
  static constexpr std::string_view kInTurn[] = {"ticket",  "mcs",  "cna", "reciprocating", "hapax",  "gcr",
                                                 "combine", "ffwd", "nr",  "hapax-olc",     "optiql", "ticket-olc"};
  if (std::ranges::count(kInTurn, pair.policy) != 0) mix.ops_each /= 4;
  check_history(pair, mix, pair.many_writers ? kHistoryThreads : 1);
  if (pair.many_writers || pair.learns) return;
  mix.weights = {5, 0, 0, 0, 0, 1};  // more than one thread may read
  check_history(pair, mix, kHistoryThreads);
}

void check_pairs(KeyKind kind) {
  static const std::vector<RaceMix<std::string>> of_numbers = mixes_of(KeyKind::kU64),
                                                 of_strings = mixes_of(KeyKind::kBytes);
  const auto& mixes = kind == KeyKind::kU64 ? of_numbers : of_strings;
  const std::size_t share = thorough() ? 1 : 3;
  std::size_t number = 0;
  for (const Pair& pair : kept_pairs()) {
    if (pair.keys != kind) continue;
    const std::size_t first = number++ % share;
    DYNAMIC_SECTION(pair.index << ":" << pair.policy << ":" << word(kind)) {
      for (std::size_t i = first; i < mixes.size(); i += share) check_mix(pair, mixes[i]);
    }
  }
}

TEST_CASE("Conformance: four threads see linearizable histories on every index of numbers", "[threads]") {
  check_pairs(KeyKind::kU64);
}

TEST_CASE("Conformance: four threads see linearizable histories on every index of strings", "[threads]") {
  check_pairs(KeyKind::kBytes);
}

}  // namespace
}  // namespace latchlab::testing
