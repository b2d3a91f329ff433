#include "src/model/tags.h"

#include <deque>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

TEST_CASE("Model tags: the least recently used line of a set is evicted") {
  Tags tags(4, 2);
  CHECK_FALSE(tags.use(1));
  CHECK(tags.insert(1) == Tags::kNone);
  CHECK(tags.insert(5) == Tags::kNone);
  CHECK(tags.insert(2) == Tags::kNone);  // another set
  CHECK(tags.use(1));
  CHECK(tags.insert(9) == 5);
  CHECK(tags.has(1));
  CHECK(tags.has(2));
  CHECK_FALSE(tags.has(5));
}

TEST_CASE("Model tags: an erased line leaves its way free") {
  Tags tags(1, 3);
  for (const u64 line : {1, 2, 3}) tags.insert(line);
  CHECK(tags.erase(2));
  CHECK_FALSE(tags.erase(2));
  CHECK(tags.insert(4) == Tags::kNone);
  CHECK(tags.insert(5) == 1);
}

TEST_CASE("Model tags: agree with a list of lines by use, also where sets are no power of two") {
  for (const u64 sets : {1, 3, 8, 14}) {
    const u32 ways = 4;
    Tags tags(sets, ways);
    std::vector<std::deque<u64>> expected(sets);
    Rng rng(test_seed());
    for (u32 i = 0; i < 20'000; ++i) {
      const u64 line = rng.below(sets * ways * 2);
      std::deque<u64>& set = expected[line % sets];
      const auto at = std::ranges::find(set, line);
      const bool there = at != set.end();
      if (there) set.erase(at);
      if (rng.below(8) == 0) {
        REQUIRE(tags.erase(line) == there);
        continue;
      }
      REQUIRE(tags.use(line) == there);
      set.push_front(line);
      if (there) continue;
      const u64 evicted = set.size() > ways ? set.back() : Tags::kNone;
      if (set.size() > ways) set.pop_back();
      REQUIRE(tags.insert(line) == evicted);
    }
  }
}

}  // namespace
}  // namespace latchlab::model
