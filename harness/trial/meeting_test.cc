#include "harness/trial/meeting.h"

#include <thread>
#include <vector>

#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("threads that meet go on when all have come, and one says how") {
  constexpr u32 kThreads = 4;
  constexpr u32 kMeetings = 50;
  Meeting meeting;
  meeting.start(kThreads);
  const std::atomic<bool> stop{false};
  std::atomic<u32> came{0};
  u32 held = 0;   // by one thread at a time, or the thread sanitizer objects
  std::atomic<u32> early{0};
  std::vector<u32> meetings(kThreads);
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (bool on = true; on; ++meetings[t]) {
        came.fetch_add(1);
        on = meeting.meet(stop, [&] { return ++held < kMeetings; });
        early += came.load() < (meetings[t] + 1) * kThreads;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(held == kMeetings);
  CHECK(early.load() == 0);
  CHECK(meetings == std::vector<u32>(kThreads, kMeetings));
}

TEST_CASE("who waits for one that does not come to a meeting hears that all is to stop") {
  Meeting meeting;
  meeting.start(2);
  std::atomic<bool> stop{false};
  bool held = false;
  bool answer = true;
  std::thread waiting([&] { answer = meeting.meet(stop, [&] { return held = true; }); });
  stop = true;
  waiting.join();
  CHECK_FALSE(answer);
  CHECK_FALSE(meeting.meet(stop, [&] { return held = true; }));   // although it is the last
  CHECK_FALSE(held);
}

}  // namespace
}  // namespace latchlab
