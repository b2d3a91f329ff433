#include "src/base/radix_sort.h"

#include <algorithm>
#include <span>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

void check_sorts(std::vector<u32> keys) {
  std::vector<u32> expected = keys, scratch(keys.size());
  std::sort(expected.begin(), expected.end());
  const std::span<u32> sorted = radix_sort(keys, scratch);
  CHECK(std::ranges::equal(sorted, expected));
}

TEST_CASE("Radix sort orders keys of every width, wherever their bits differ") {
  Rng random(test_seed());
  for (u32 width = 0; width <= 32; ++width) {
    for (u32 lowest = 0; lowest + width <= 32; lowest += 3) {
      CAPTURE(width, lowest);
      const u32 others = static_cast<u32>(random()) & ~static_cast<u32>(((u64{1} << width) - 1) << lowest);
      std::vector<u32> keys(1 + random.below(300));
      for (u32& key : keys) key = static_cast<u32>(random.below(u64{1} << width) << lowest) | others;
      check_sorts(keys);
    }
  }
}

TEST_CASE("Radix sort orders the least and the greatest key, equal keys, one key and none") {
  check_sorts({});
  check_sorts({7});
  check_sorts({~0u, 0});
  check_sorts({0, ~0u, 1u << 31, (1u << 31) - 1, ~0u, 0});
  check_sorts(std::vector<u32>(1000, 5));
}

TEST_CASE("Radix sort orders keys that ascend or descend already") {
  std::vector<u32> keys(10'000);
  for (u32 i = 0; i < keys.size(); ++i) keys[i] = i << 7;
  check_sorts(keys);
  std::reverse(keys.begin(), keys.end());
  check_sorts(keys);
}

TEST_CASE("Radix sort by high bits keeps the order of keys that agree in them") {
  Rng random(test_seed());
  for (u32 lowest = 0; lowest < 32; ++lowest) {
    CAPTURE(lowest);
    std::vector<u32> keys(500), scratch(500);
    for (u32& key : keys) key = static_cast<u32>(random());
    std::vector<u32> expected = keys;
    std::stable_sort(expected.begin(), expected.end(), [&](u32 a, u32 b) { return a >> lowest < b >> lowest; });
    CHECK(std::ranges::equal(radix_sort(keys, scratch, lowest), expected));
  }
}

}  // namespace
}  // namespace latchlab
