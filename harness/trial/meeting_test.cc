#include "harness/trial/meeting.h"

#include <atomic>
#include <vector>

#include "harness/host/native_team.h"
#include "harness/host/run_on_testing.h"
#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEMPLATE_TEST_CASE("threads that meet go on when all have come, and one says how", "", NativeTeam,
                   testing::VirtualTeam) {
  constexpr u32 kThreads = 4;
  constexpr u32 kMeetings = 50;
  TestType team;
  Meeting meeting(team);
  meeting.start(kThreads);
  const std::atomic<bool> stop{false};
  std::atomic<u32> came{0};
  u32 held = 0;  // by one thread at a time, or the thread sanitizer objects
  std::atomic<u32> early{0};
  std::vector<u32> meetings(kThreads);
  testing::run_on(team, kThreads, [&](u32 t) {
    for (bool on = true; on; ++meetings[t]) {
      came.fetch_add(1);
      on = meeting.meet(stop, [&] { return ++held < kMeetings; });
      early += came.load() < (meetings[t] + 1) * kThreads;
    }
  });
  CHECK(held == kMeetings);
  CHECK(early.load() == 0);
  CHECK(meetings == std::vector<u32>(kThreads, kMeetings));
}

TEMPLATE_TEST_CASE("a thread that waits for one that does not come to a meeting hears that all is to stop", "",
                   NativeTeam, testing::VirtualTeam) {
  TestType team;
  Meeting meeting(team);
  meeting.start(2);
  std::atomic<bool> stop{false};
  bool held = false;
  // One that all come to, whose answer is not that of the next.
  testing::run_on(team, 2, [&](u32) { CHECK(meeting.meet(stop, [] { return true; })); });
  bool answer = true;
  testing::stop_one_that_waits(team, stop, [&] { answer = meeting.meet(stop, [&] { return held = true; }); });
  CHECK_FALSE(answer);
  CHECK_FALSE(meeting.meet(stop, [&] { return held = true; }));  // although it is the last
  CHECK_FALSE(held);
}

}  // namespace
}  // namespace latchlab
