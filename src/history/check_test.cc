// Tests that the checker accepts linearizable histories and refuses all others.
#include "src/history/check.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "src/arch/sanitizer.h"
#include "src/base/rng.h"
#include "src/history/random_history_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using Calls = std::vector<Call>;
constexpr CallKind kFind = CallKind::kFind, kInsert = CallKind::kInsert, kUpdate = CallKind::kUpdate,
                   kUpsert = CallKind::kUpsert, kErase = CallKind::kErase;

constexpr u32 kSmallHistories = kSanitized ? 20'000 : 200'000, kManyCalls = kSanitized ? 2000 : 20'000;

TEST_CASE("History: calls one after the other are accepted with the right answers") {
  CHECK(linearizable({}, {}));
  CHECK(linearizable(
      {}, Calls{{kInsert, true, 7, 1, 2}, {kFind, true, 7, 3, 4}, {kErase, true, 0, 5, 6}, {kFind, false, 0, 7, 8}}));
  CHECK(linearizable(
      3, Calls{{kInsert, false, 7, 1, 2}, {kFind, true, 3, 3, 4}, {kUpsert, false, 5, 5, 6}, {kFind, true, 5, 7, 8}}));
  CHECK(linearizable(
      {},
      Calls{{kUpdate, false, 7, 1, 2}, {kUpsert, true, 8, 3, 4}, {kUpdate, true, 9, 5, 6}, {kFind, true, 9, 7, 8}}));
}

TEST_CASE("History: impossible answers are refused") {
  CHECK_FALSE(linearizable({}, Calls{{kFind, true, 7, 1, 2}}));
  CHECK_FALSE(linearizable(7, Calls{{kFind, false, 0, 1, 2}}));
  CHECK_FALSE(linearizable(7, Calls{{kFind, true, 8, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kInsert, false, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kUpsert, false, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kUpdate, true, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kErase, true, 0, 1, 2}}));
  SECTION("a stale read") { CHECK_FALSE(linearizable(1, Calls{{kUpsert, false, 2, 1, 2}, {kFind, true, 1, 3, 4}})); }
  SECTION("two inserts succeeded") {
    CHECK_FALSE(linearizable({}, Calls{{kInsert, true, 1, 1, 5}, {kInsert, true, 2, 2, 6}}));
  }
  SECTION("a value that vanished after a reader saw it") {
    CHECK_FALSE(linearizable({}, Calls{{kUpsert, true, 1, 1, 10}, {kFind, true, 1, 2, 3}, {kFind, false, 0, 4, 5}}));
  }
  SECTION("two readers saw two updates in different orders") {
    CHECK_FALSE(linearizable(0, Calls{{kUpdate, true, 1, 1, 20},
                                      {kUpdate, true, 2, 2, 21},
                                      {kFind, true, 1, 3, 4},
                                      {kFind, true, 2, 5, 6},
                                      {kFind, true, 2, 3, 4},
                                      {kFind, true, 1, 5, 6}}));
  }
}

TEST_CASE("History: overlapping calls may take effect in any order") {
  CHECK(linearizable(
      {}, Calls{{kInsert, true, 1, 1, 5}, {kInsert, false, 2, 2, 6}, {kFind, false, 0, 1, 6}, {kFind, true, 1, 3, 4}}));
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, 4}, {kFind, true, 1, 2, 3}}));
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, 4}, {kFind, true, 2, 2, 3}}));
}

TEST_CASE("History: a call that returns before it is called is refused") {
  CHECK_THROWS_AS(linearizable({}, Calls{{kFind, false, 0, 2, 1}}), std::invalid_argument);
}

TEST_CASE("History: on small histories the checker agrees with trying every order") {
  Rng rng(test_seed());
  u64 possible = 0, impossible = 0;
  for (u32 round = 0; round < kSmallHistories; ++round) {
    const Shape shape{.calls = static_cast<u32>(1 + rng.below(10)),
                      .longest = 1 + rng.below(80),
                      .values = rng.below(3) == 0 ? 1 + rng.below(3) : 0,
                      .find_weight = static_cast<u32>(rng.below(12)),
                      .by_turns = rng.below(2) == 0,
                      .say_weight = static_cast<u32>(rng.below(3) * 8),
                      .lost_weight = static_cast<u32>(rng.below(3))};
    Drawn drawn = draw_history(rng, shape);
    for (u64 changes = rng.below(4); changes != 0; --changes) mutate(rng, drawn);
    const bool can_be = EveryOrder(drawn.calls).completes(0, drawn.before);
    ++(can_be ? possible : impossible);
    const std::string conflict = check_calls(drawn.before, drawn.calls).conflict;
    if (can_be == conflict.empty()) continue;
    FAIL("this history is " << (can_be ? "possible" : "impossible") << ": " << told(drawn) << "\n" << conflict);
  }
  CHECK(possible > kSmallHistories / 2);
  CHECK(impossible > kSmallHistories / 5);
}

TEST_CASE("History: if every value is written once, the work grows with the calls and hardly with how many overlap") {
  Rng rng(test_seed());
  for (const u64 overlapping : {2, 8, 32, 128}) {
    for (const u32 variant : {0, 1, 2, 3}) {
      CAPTURE(overlapping, variant);
      // All answers say what was there, or none does.
      const Drawn drawn = draw_history(rng, {kManyCalls, 10 * overlapping, 0, 5, variant % 2 == 1, variant / 2 * 16});
      const KeyVerdict verdict = check_calls(drawn.before, drawn.calls);
      CHECK(verdict.conflict == "");
      CHECK_FALSE(verdict.undecided);
      CHECK(verdict.tried < 8 * u64{kManyCalls});
    }
  }
}

TEST_CASE("History: the checker gives up at its limit, and says so") {
  Rng rng(test_seed());
  // Each of four values is written many times, by many calls at a time.
  const Drawn drawn = draw_history(rng, {1000, 400, 4, 5, false});
  for (const Effort most : {Effort{.in_all = 500}, Effort{.at_once = 5}}) {
    const KeyVerdict verdict = check_calls(drawn.before, drawn.calls, most);
    CHECK(verdict.undecided);
    CHECK(verdict.conflict == "");
    CHECK(verdict.tried < 1000);
  }
}

TEST_CASE("History: an answer that says what was there is checked") {
  CHECK(linearizable(1, Calls{{kErase, true, 0, 1, 2, 0, 1}}));
  CHECK_FALSE(linearizable(1, Calls{{kErase, true, 0, 1, 2, 0, 5}}));
  CHECK(linearizable(1, Calls{{kUpdate, true, 2, 1, 4, 0, 1}, {kUpdate, true, 3, 2, 3, 0, 2}}));
  CHECK_FALSE(linearizable(1, Calls{{kUpdate, true, 2, 1, 4, 0, 1}, {kUpdate, true, 3, 2, 3, 0, 1}}));
  CHECK_FALSE(linearizable(1, Calls{{kUpdate, true, 2, 1, 2, 0, 1}, {kInsert, false, 3, 3, 4, 0, 1}}));
}

TEST_CASE("History: a call that never returned may have taken effect") {
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, kNeverReturned}, {kFind, true, 1, 3, 4}}));
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, kNeverReturned}, {kFind, true, 2, 3, 4}}));
  CHECK_FALSE(linearizable(1, Calls{{kUpsert, false, 2, 5, kNeverReturned}, {kFind, true, 2, 3, 4}}));
  CHECK_FALSE(
      linearizable(1, Calls{{kUpsert, false, 2, 1, kNeverReturned}, {kFind, true, 2, 3, 4}, {kFind, true, 1, 5, 6}}));
}

TEST_CASE("History: one wrong answer among thousands of calls is found and reported in a line") {
  Rng rng(test_seed());
  for (u32 round = 0; round < 20; ++round) {
    Drawn drawn = draw_history(rng, {2000, 40, 0, 8, round % 2 == 0});
    // A value is found once more, long after another has replaced it.
    const auto finds = [](const Call& call) { return call.kind == kFind && call.yes; };
    const auto found = std::find_if(drawn.calls.begin() + 500, drawn.calls.end(), finds);
    REQUIRE(found != drawn.calls.end());
    const auto late = std::find_if(found + 500, drawn.calls.end(), finds);
    REQUIRE(late != drawn.calls.end());
    REQUIRE(late->value != found->value);
    late->value = found->value;
    const std::string conflict = check_calls(drawn.before, drawn.calls).conflict;
    CAPTURE(conflict);
    CHECK(conflict.find("[" + late->str() + "]") != std::string::npos);
    CHECK(conflict.size() < 1000);
  }
}

TEST_CASE("History: a complaint shows the calls that conflict with the impossible one") {
  const auto conflict = [](State before, const Calls& calls) { return check_calls(before, calls).conflict; };
  CHECK(conflict({}, {{kInsert, true, 1, 1, 5, 0}, {kInsert, true, 2, 2, 6, 1}}) ==
        "[2-6 1: insert 2 -> yes] is impossible: the key is there by [1-5 0: insert 1 -> yes]");
  CHECK(conflict(1, {{kUpsert, false, 2, 1, 2, 0}, {kFind, true, 1, 3, 4, 1}}) ==
        "[1-2 0: upsert 2 -> no] is impossible: the key is there from the beginning until [3-4 1: find 1 -> yes]");
  CHECK(conflict({}, {{kFind, true, 7, 2, 3, 0}, {kInsert, true, 8, 1, 9, 1}}) ==
        "[2-3 0: find 7 -> yes] is impossible: the key is absent from the beginning; changes under way: "
        "[1-9 1: insert 8 -> yes]");
}

}  // namespace
}  // namespace latchlab
