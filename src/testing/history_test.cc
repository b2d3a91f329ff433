// The checker says yes to what can have happened and no to what cannot.
#include "src/testing/history.h"

#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using Calls = std::vector<Call>;
constexpr CallKind kFind = CallKind::kFind, kInsert = CallKind::kInsert, kUpdate = CallKind::kUpdate,
                   kUpsert = CallKind::kUpsert, kErase = CallKind::kErase;

TEST_CASE("History: one call after the other") {
  CHECK(linearizable({}, {}));
  CHECK(linearizable({}, Calls{{kInsert, true, 7, 1, 2},
                               {kFind, true, 7, 3, 4},
                               {kErase, true, 0, 5, 6},
                               {kFind, false, 0, 7, 8}}));
  CHECK(linearizable(3, Calls{{kInsert, false, 7, 1, 2},
                              {kFind, true, 3, 3, 4},
                              {kUpsert, false, 5, 5, 6},
                              {kFind, true, 5, 7, 8}}));
  CHECK(linearizable({}, Calls{{kUpdate, false, 7, 1, 2},
                               {kUpsert, true, 8, 3, 4},
                               {kUpdate, true, 9, 5, 6},
                               {kFind, true, 9, 7, 8}}));
}

TEST_CASE("History: what cannot have happened") {
  CHECK_FALSE(linearizable({}, Calls{{kFind, true, 7, 1, 2}}));
  CHECK_FALSE(linearizable(7, Calls{{kFind, false, 0, 1, 2}}));
  CHECK_FALSE(linearizable(7, Calls{{kFind, true, 8, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kInsert, false, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kUpsert, false, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kUpdate, true, 7, 1, 2}}));
  CHECK_FALSE(linearizable({}, Calls{{kErase, true, 0, 1, 2}}));
  SECTION("a stale read") {
    CHECK_FALSE(linearizable(1, Calls{{kUpsert, false, 2, 1, 2}, {kFind, true, 1, 3, 4}}));
  }
  SECTION("two inserts won") {
    CHECK_FALSE(linearizable({}, Calls{{kInsert, true, 1, 1, 5}, {kInsert, true, 2, 2, 6}}));
  }
  SECTION("a value that was there only before it was read first") {
    CHECK_FALSE(
        linearizable({}, Calls{{kUpsert, true, 1, 1, 10}, {kFind, true, 1, 2, 3}, {kFind, false, 0, 4, 5}}));
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

TEST_CASE("History: calls at once may have happened in any order") {
  CHECK(linearizable({}, Calls{{kInsert, true, 1, 1, 5},
                               {kInsert, false, 2, 2, 6},
                               {kFind, false, 0, 1, 6},
                               {kFind, true, 1, 3, 4}}));
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, 4}, {kFind, true, 1, 2, 3}}));
  CHECK(linearizable(1, Calls{{kUpsert, false, 2, 1, 4}, {kFind, true, 2, 2, 3}}));
}

TEST_CASE("History: keys are checked apart, and the complaint shows the calls") {
  History history(2);
  history.starts_with(1, 5);
  history.add(0, {kFind, false, 0, history.now(), history.now(), 0});
  history.add(1, {kFind, true, 5, history.now(), history.now(), 1});
  CHECK(history.complaint() == "");
  history.add(1, {kErase, false, 0, history.now(), history.now(), 2});
  CHECK(history.complaint() ==
        "key 1, at first 5, cannot have seen  [3-4] 1: find 5 -> yes  [5-6] 2: erase -> no");
}

}  // namespace
}  // namespace latchlab::testing
