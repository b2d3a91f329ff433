// Tests that patterns of keys are what their names say, where no test that uses them would tell.
#include "src/testing/key_patterns.h"

#include <algorithm>
#include <map>
#include <set>

#include "src/base/hash.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

TEST_CASE("Key patterns: strings of one length have equal hashes, also those of 64 KiB") {
  const std::vector<KeyPattern> patterns = string_patterns(test_seed());
  const auto equal =
      std::ranges::find_if(patterns, [](const KeyPattern& pattern) { return pattern.name == "equal hashes"; });
  REQUIRE(equal != patterns.end());
  std::map<std::size_t, std::set<u64>> hashes;
  std::map<std::size_t, u64> keys;
  for (const std::string& key : equal->keys) {
    hashes[key.size()].insert(hash_bytes(key));
    ++keys[key.size()];
  }
  CHECK(hashes.size() == 4);
  for (const auto& [length, different] : hashes) {
    CAPTURE(length);
    CHECK(different.size() == 1);
    CHECK(keys[length] >= 3);
  }
}

}  // namespace
}  // namespace latchlab::testing
