#include "src/arch/wide.h"

#include <vector>

#include "src/arch/features.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/one_lane.h"

namespace latchlab {
namespace {

/// How often each word is done, and how many calls that takes.
struct Done {
  std::vector<u32> times;
  u32 calls = 0;
};

Done done(std::size_t count) {
  Done seen{.times = std::vector<u32>(count + WideLanes::kLanes)};   // room for lanes that should not be there
  in_lanes(count, [&seen](auto width, std::size_t from) {
    ++seen.calls;
    for (std::size_t k = 0; k < width.kLanes; ++k) ++seen.times[from + k];
  });
  return seen;
}

constexpr std::size_t kLanes = WideLanes::kLanes;

TEST_CASE("Every word is done once, and no other, whatever their number") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kLanes - 1, kLanes, kLanes + 1, 4 * kLanes, 5 * kLanes - 1}) {
    std::vector<u32> once(count, 1);
    once.resize(count + kLanes, 0);
    const Done as_chosen = done(count);
    CHECK(as_chosen.times == once);
    CHECK(as_chosen.calls == (runs_wide() ? count / kLanes + count % kLanes : count));
    const OneLaneOnly narrow;
    const Done word_by_word = done(count);
    CHECK(word_by_word.times == once);
    CHECK(word_by_word.calls == count);
  }
}

TEST_CASE("Loops run wide only where the processor keeps its clock") {
  const CpuFlags flags = cpu_flags();
  CHECK(runs_wide() == (flags.avx512 && flags.avx512_vbmi2));
  {
    const OneLaneOnly narrow;
    CHECK_FALSE(runs_wide());
  }
  CHECK(runs_wide() == (flags.avx512 && flags.avx512_vbmi2));
}

TEST_CASE("A product's high word is the same in halves, up to 2^32") {
  Rng rng(test_seed());
  bool same = true;
  for (u32 i = 0; i < 100'000; ++i) {
    const u64 word = rng() >> rng.below(64);
    const u64 n = rng() % ((u64{1} << 32) + 1) >> rng.below(33);
    same = same && WideLanes::bounded(word, n) == OneLane::bounded(word, n);
  }
  CHECK(same);
  for (const u64 word : {u64{0}, u64{1}, u64{0xffffffff}, u64{1} << 32, ~u64{0}}) {
    for (const u64 n : {u64{0}, u64{1}, u64{0xffffffff}, u64{1} << 32}) {
      CHECK(WideLanes::bounded(word, n) == OneLane::bounded(word, n));
    }
  }
}

}  // namespace
}  // namespace latchlab
