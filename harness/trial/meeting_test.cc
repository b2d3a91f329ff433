#include "harness/trial/meeting.h"

#include <atomic>
#include <vector>

#include "harness/host/native_team.h"
#include "harness/host/run_on_testing.h"
#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEMPLATE_TEST_CASE("threads leave a meeting when all have come, and one decides for all", "", NativeTeam,
                   testing::VirtualTeam) {
  constexpr u32 kThreads = 4;
  constexpr u32 kMeetings = 50;
  TestType team;
  Meeting meeting(team);
  meeting.start(kThreads);
  const std::atomic<bool> stop{false};
  std::atomic<u32> came{0};
  u32 held = 0;  // written by one thread at a time, else the thread sanitizer reports a race
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

TEMPLATE_TEST_CASE("a stop ends the wait for a thread that does not come to a meeting", "", NativeTeam,
                   testing::VirtualTeam) {
  TestType team;
  Meeting meeting(team);
  meeting.start(2);
  std::atomic<bool> stop{false};
  bool held = false;
  // A first meeting that all attend, whose result differs from the next one's.
  testing::run_on(team, 2, [&](u32) { CHECK(meeting.meet(stop, [] { return true; })); });
  bool answer = true;
  testing::stop_one_that_waits(team, stop, [&] { answer = meeting.meet(stop, [&] { return held = true; }); });
  CHECK_FALSE(answer);
  CHECK_FALSE(meeting.meet(stop, [&] { return held = true; }));  // although it is the last to come
  CHECK_FALSE(held);
}

}  // namespace
}  // namespace latchlab
