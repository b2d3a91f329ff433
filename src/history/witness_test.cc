#include "src/history/witness.h"

#include <algorithm>
#include <string>

#include "src/arch/sanitizer.h"
#include "src/base/rng.h"
#include "src/history/check.h"
#include "src/history/random_history_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("Witness: it is impossible itself, and has a reason") {
  Rng rng(test_seed());
  u32 impossible = 0;
  for (u32 round = 0; round < (kSanitized ? 500 : 5000); ++round) {
    Drawn drawn = draw_history(rng, {.calls = static_cast<u32>(2 + rng.below(30)),
                                     .longest = 1 + rng.below(50),
                                     .values = rng.below(4) == 0 ? u64{3} : 0,
                                     .find_weight = 6,
                                     .by_turns = rng.below(2) == 0,
                                     .say_weight = static_cast<u32>(rng.below(3) * 8)});
    for (u64 changes = 1 + rng.below(3); changes != 0; --changes) mutate(rng, drawn);
    if (linearizable(drawn.before, drawn.calls)) continue;
    ++impossible;
    const Witness witness = find_witness(drawn.before, drawn.calls);
    INFO(told(drawn) << "\n" << witness.drawing());
    REQUIRE(witness.calls.size() <= drawn.calls.size());
    REQUIRE(!witness.conflict.empty());
    REQUIRE_FALSE(EveryOrder(witness.calls).completes(0, witness.before));
  }
  CHECK(impossible > 100);
}

TEST_CASE("Witness: a stale find among thousands of calls is shown with few others") {
  Rng rng(test_seed());
  for (const u64 overlapping : {1, 4, 8}) {
    Drawn drawn = draw_history(rng, {4000, 10 * overlapping, 0, 8, false});
    const auto finds = [](const Call& call) { return call.finds(); };
    const auto found = std::find_if(drawn.calls.begin() + 1000, drawn.calls.end(), finds);
    const auto late = std::find_if(found + 1000, drawn.calls.end(), finds);
    REQUIRE(late != drawn.calls.end());
    late->value = found->value;
    const Witness witness = find_witness(drawn.before, drawn.calls);
    INFO(witness.drawing());
    CHECK(witness.calls.size() <= 4);
    CHECK(std::any_of(witness.calls.begin(), witness.calls.end(), [&](const Call& call) {
      return call.called == late->called && call.finds() && call.value == late->value;
    }));
  }
}

TEST_CASE("Witness: its calls are drawn to a scale of ranks") {
  const std::vector<Call> calls{{CallKind::kInsert, true, 1, 100, 200, 0},
                                {CallKind::kUpsert, false, 2, 300, 400, 1},
                                {CallKind::kFind, true, 1, 500, 9000, 2},
                                {CallKind::kFind, true, 2, 9500, 9600, 2}};
  const Witness witness = find_witness({}, calls);
  CHECK(witness.drawing() ==
        "  before these calls the key is absent\n"
        "  |-------|                                   100-200 0: insert 1 -> yes\n"
        "                  |-------|                   300-400 1: upsert 2 -> no\n"
        "                                  |-------|   500-9000 2: find 1 -> yes\n");
  CHECK(witness.conflict ==
        "[300-400 1: upsert 2 -> no] ends the value 1, and [500-9000 2: find 1 -> yes] meets it later");
  const Witness open{.before = {}, .calls = {{CallKind::kUpsert, false, 2, 1, kNeverReturned, 1}}, .conflict = ""};
  CHECK(open.drawing() ==
        "  before these calls the key is absent\n"
        "  |>  1- 1: upsert 2 -> ?\n");
}

TEST_CASE("Witness: the conflict that a later find decides ends with that find") {
  // Only the last find says that the upsert came first.
  const std::vector<Call> calls{{CallKind::kUpsert, true, 1, 1, 10, 0},
                                {CallKind::kUpsert, false, 2, 2, 11, 1},
                                {CallKind::kFind, true, 2, 12, 13, 0},
                                {CallKind::kFind, true, 1, 14, 15, 1},
                                {CallKind::kErase, true, 0, 20, 21, 1}};
  const Witness witness = find_witness({}, calls);
  INFO(witness.drawing());
  CHECK(witness.calls.back().returned == 15);
}

}  // namespace
}  // namespace latchlab
