// Compares every pair of this build with a std::map, in one thread. It covers all registered indexes, also a user's
// own.
//
// For each pattern of keys it inserts all, looks them up from everywhere, and erases all. Then random operations let
// the index grow and shrink. In the end it checks the memory of the empty index.
#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include "indexes/erased_testing.h"
#include "indexes/pairs_test.h"
#include "src/arch/sanitizer.h"
#include "src/testing/catch.h"
#include "src/testing/key_patterns.h"
#include "src/testing/oracle.h"

namespace latchlab::testing {
namespace {

using SessionOracle = Oracle<StringSession>;

constexpr std::size_t kLimits[] = {0, 1, 2, 63, 64, 65, ~std::size_t{0}};

/// Runs batches of many lengths, among them those around the size of one attempt and of one group, with repeated keys.
void use_batches(SessionOracle& oracle, const std::vector<std::string>& keys, Rng& rng,
                 std::initializer_list<u32> lookups = {0, 1, 2, 15, 16, 17, 32, 63, 64, 65, 200},
                 std::initializer_list<u32> changes = {0, 1, 63, 64, 65}) {
  const auto batch_of = [&](u32 length) {
    std::vector<std::string> batch;
    for (u32 i = 0; i < length; ++i) batch.push_back(keys[rng.below(keys.size())]);
    return batch;
  };
  for (const u32 length : lookups) {
    const std::vector<std::string> batch = batch_of(length);
    oracle.find_batch(batch, BatchOrder::kSideBySide);
    oracle.find_batch(batch, BatchOrder::kInTurn);
  }
  for (const u32 length : changes) {
    const std::vector<std::string> batch = batch_of(length);
    std::vector<u64> values;
    for (u32 i = 0; i < length; ++i) values.push_back(rng());
    const BatchOrder order = length % 2 == 0 ? BatchOrder::kSideBySide : BatchOrder::kInTurn;
    oracle.modify_batch(batch, values, order);
    oracle.update_batch(batch, values, order);
    oracle.erase_batch(batch, order);
    oracle.insert_batch(batch, values, order);
  }
}

/// Inserts all keys, looks them up, and erases them again. Compares every answer.
void fill_and_empty(SessionOracle& oracle, const KeyPattern& pattern, bool numbers, Rng& rng) {
  for (const std::string& key : pattern.keys) {
    oracle.find(key);
    oracle.insert(key, rng());
    oracle.insert(key, rng());
    oracle.find(key);
  }
  oracle.compare_all();
  for (const std::string& from : with_neighbours(pattern.keys, numbers)) {
    oracle.find(from);
    oracle.scan(from, kLimits[rng.below(std::size(kLimits) - 1)]);
  }
  for (const std::size_t limit : kLimits) oracle.scan(pattern.keys.front(), limit);
  use_batches(oracle, with_neighbours(pattern.keys, numbers), rng);
  oracle.compare_all();
  oracle.scan(numbers ? std::string(8, '\0') : std::string(), ~std::size_t{0});
  for (const std::string& key : pattern.keys) oracle.update(key, rng());
  std::vector<std::string> order = pattern.keys;
  std::shuffle(order.begin(), order.end(), rng);
  for (std::size_t i = 0; i < order.size(); ++i) {
    oracle.erase(order[i]);
    oracle.erase(order[i]);
    oracle.find(order[i]);
    oracle.scan(order[i], 3);
    if (i % 64 == 63) oracle.compare_all();
  }
  oracle.compare_all();
}

/// Runs random operations in phases of growth and of shrinkage, then erases all keys.
void swing(SessionOracle& oracle, const KeyPattern& pattern, bool numbers, Rng& rng, u32 operations) {
  const std::vector<std::string> keys = with_neighbours(pattern.keys, numbers);
  const u32 phase = std::max<u32>(operations / 6, 1);
  for (u32 i = 0; i < operations && oracle.ok(); ++i) {
    const bool growing = i / phase % 2 == 0;
    const std::string& key =
        rng.below(4) == 0 ? keys[rng.below(keys.size())] : pattern.keys[rng.below(pattern.keys.size())];
    oracle.random_operation(rng, key, growing ? 60 : 10, growing ? 10 : 60);
    if (i % phase == phase - 1) {
      oracle.compare_all();
      use_batches(oracle, keys, rng, {40}, {40});
    }
  }
  const SessionOracle::Model left = oracle.model();
  for (const auto& [key, value] : left) oracle.erase(key);
  oracle.compare_all();
}

void check_pattern(const Pair& pair, const std::string& variant, const KeyPattern& pattern, u64 seed, u32 operations,
                   const MemoryConfig& memory) {
  INFO(variant << ":" << pair.policy << ":" << word(pair.keys) << ", " << pattern.name << ", " << word(memory.alloc));
  const bool numbers = pair.keys == KeyKind::kU64;
  const auto index = pair.make_index(Spec::parse(pair.policy), memory, Spec::parse(variant));
  u64 empty = 0;
  {
    StringSession session(*index);
    empty = index->bytes().live - index->bytes().room;
    SessionOracle oracle(session, index->ordered(), pair.no_erase.empty());
    Rng rng(seed);
    fill_and_empty(oracle, pattern, numbers, rng);
    CHECK(oracle.complaint() == "");
    // Forty operations for each key are enough. Patterns of few keys may have long keys.
    const u32 most = 40 * static_cast<u32>(pattern.keys.size());
    if (oracle.ok()) swing(oracle, pattern, numbers, rng, std::min(operations, most));
    CHECK(oracle.complaint() == "");
    CHECK(session.inconsistency() == "");
    if (!pair.no_erase.empty()) CHECK_THROWS_AS(session.erase(pattern.keys.front()), std::logic_error);
  }
  // A peer may keep its buckets.
  if (pair.own_memory.empty()) CHECK(index->bytes().live - index->bytes().room == empty);
}

/// Under sanitizers every third pattern runs on a pair, and another third on the next pair.
void check_pairs(KeyKind keys, const std::vector<KeyPattern>& patterns) {
  const u32 operations = kSanitized ? 600 : 3000;
  const std::size_t share = kSanitized ? 3 : 1;
  std::size_t number = 0;
  for (const Pair& pair : kept_pairs()) {
    if (pair.keys != keys) continue;
    const std::size_t first = number++ % share;
    DYNAMIC_SECTION(pair.index << ":" << pair.policy << ":" << word(keys)) {
      for (std::size_t i = first; i < patterns.size(); i += share)
        check_pattern(pair, pair.index, patterns[i], test_seed(), operations, {});
    }
  }
}

TEST_CASE("Conformance: every index of numbers does what a map does", "[no-tsan]") {  // one thread
  check_pairs(KeyKind::kU64, patterns_of(KeyKind::kU64));
}

TEST_CASE("Conformance: every index of strings does what a map does", "[no-tsan]") {  // one thread
  check_pairs(KeyKind::kBytes, patterns_of(KeyKind::kBytes));
}

TEST_CASE("Conformance: every index of strings holds spelled numbers", "[no-tsan]") {  // one thread
  check_pairs(KeyKind::kBytes, patterns_of(KeyKind::kU64));
}

/// Returns the answers as a text: "yes, 5 was there".
std::string text_of(const Removed& answer) {
  return (answer.done ? "yes" : "no") + (answer.was ? ", " + std::to_string(*answer.was) + " was there" : "");
}

TEST_CASE("Conformance: updates and erases of words say which value they removed", "[no-tsan]") {  // one thread
  for (const Pair& pair : kept_pairs()) {
    if (!pair.no_erase.empty() || !pair.own_memory.empty()) continue;  // a peer cannot tell
    DYNAMIC_SECTION(pair.index << ":" << pair.policy << ":" << word(pair.keys)) {
      const auto index = pair.make_index(Spec::parse(pair.policy), {}, Spec::parse(pair.index));
      StringSession session(*index);
      const std::vector<std::string>& keys = patterns_of(pair.keys).back().keys;
      for (const std::string& key : keys) {
        CHECK(text_of(session.remove(key)) == "no");
        CHECK(text_of(session.replace(Put::kUpdate, key, 1)) == "no");
        CHECK(text_of(session.replace(Put::kInsert, key, 2)) == "yes");
        CHECK(text_of(session.replace(Put::kInsert, key, 3)) == "no");
        CHECK(text_of(session.replace(Put::kUpdate, key, 4)) == "yes, 2 was there");
        CHECK(text_of(session.replace(Put::kUpsert, key, 5)) == "no");
        CHECK(session.find(key) == 5);
      }
      for (const std::string& key : keys) {
        CHECK(text_of(session.remove(key)) == "yes, 5 was there");
        CHECK_FALSE(session.find(key));
        CHECK(text_of(session.remove(key)) == "no");
        CHECK(text_of(session.replace(Put::kUpsert, key, 6)) == "yes");
      }
    }
  }
}

// Runs under one policy that frees at once and one that waits for readers. Other properties of a policy do not affect
// where memory comes from.
TEST_CASE("Conformance: every way to get memory serves every index that takes it", "[no-tsan]") {  // one thread
  std::set<std::tuple<std::string, KeyKind, bool>> seen;
  for (const Pair& pair : kept_pairs()) {
    if (!pair.own_memory.empty()) continue;
    if (!seen.emplace(pair.index, pair.keys, pair.no_reclaim.empty()).second) continue;
    const auto& patterns = patterns_of(pair.keys);
    DYNAMIC_SECTION(pair.index << ":" << pair.policy << ":" << word(pair.keys)) {
      for (const auto alloc : {MemoryConfig::Alloc::kMalloc, MemoryConfig::Alloc::kArena}) {
        for (const std::size_t i : {std::size_t{0}, patterns.size() - 1}) {
          check_pattern(pair, pair.index, patterns[i], test_seed(), 600, {.alloc = alloc});
        }
      }
      check_pattern(pair, pair.index, patterns[0], test_seed(), 600, {.thp = true});
    }
  }
}

/// Runs every variant under every policy, or under the first policy only.
void check_variants(bool every_policy) {
  std::set<std::pair<std::string, KeyKind>> seen;
  bool any = false;
  for (const Pair& pair : kept_pairs()) {
    if (!seen.emplace(pair.index, pair.keys).second && !every_policy) continue;
    for (const std::string& variant : pair.variants) {
      any = true;
      DYNAMIC_SECTION(variant << ":" << pair.policy << ":" << word(pair.keys)) {
        for (const KeyPattern& pattern : patterns_of(pair.keys))
          check_pattern(pair, variant, pattern, test_seed(), 600, {});
      }
    }
  }
  CHECK(any);
}

TEST_CASE("Conformance: every variant of an index does what a map does", "[no-tsan]") { check_variants(false); }

TEST_CASE("Conformance: every variant of an index does what a map does under every policy", "[.all][release]") {
  check_variants(true);
}

}  // namespace
}  // namespace latchlab::testing
