#include "harness/trial/turns.h"

#include <atomic>
#include <vector>

#include "harness/host/native_team.h"
#include "harness/host/run_on_testing.h"
#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEMPLATE_TEST_CASE("turns come in order, whichever thread takes each", "", NativeTeam, testing::VirtualTeam) {
  TestType team;
  Turns turns(team);
  turns.start();
  const std::atomic<bool> stop{false};
  std::vector<u32> order;
  testing::run_on(team, 3, [&](u32 t) {
    for (u32 turn = t; turn < 300; turn += 3) {
      if (!turns.await(turn, stop)) return;
      order.push_back(turn);  // written by one thread at a time, else the thread sanitizer reports a race
      turns.end();
    }
  });
  REQUIRE(order.size() == 300);
  for (u32 turn = 0; turn < 300; ++turn) CHECK(order[turn] == turn);
}

TEMPLATE_TEST_CASE("a stop ends the wait for a turn that does not come", "", NativeTeam, testing::VirtualTeam) {
  TestType team;
  Turns turns(team);
  turns.start();
  std::atomic<bool> stop{false};
  bool came = true;
  testing::stop_one_that_waits(team, stop, [&] { came = turns.await(1, stop); });
  CHECK_FALSE(came);
}

}  // namespace
}  // namespace latchlab
