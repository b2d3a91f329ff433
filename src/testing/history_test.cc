#include "src/testing/history.h"

#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

TEST_CASE("History: keys are checked one by one, and the complaint shows the calls") {
  History history(2, 3);
  history.starts_with(1, 5);
  const auto add = [&](std::size_t key, CallKind kind, bool yes, u64 value, u32 caller) {
    const u64 called = history.now();
    history.add(key, {kind, yes, value, called, history.now(), caller});
  };
  add(0, CallKind::kFind, false, 0, 0);
  add(1, CallKind::kFind, true, 5, 1);
  CHECK(history.complaint() == "");
  add(1, CallKind::kErase, false, 0, 2);
  CHECK(history.complaint() ==
        "key 1, at first 5: [5-6 2: erase -> no] is impossible: the key is there from the beginning");
  CHECK(history.size() == 3);
}

}  // namespace
}  // namespace latchlab::testing
