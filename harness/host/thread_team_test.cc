// Tests of the promises of ThreadTeam, for both teams.
#include "harness/host/thread_team.h"

#include <atomic>
#include <concepts>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/host/barrier.h"
#include "harness/host/native_team.h"
#include "harness/host/run_on_testing.h"
#include "harness/host/virtual_team_testing.h"
#include "harness/trial/meter.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::VirtualTeam;

u64 soon(ThreadTeam& team) { return team.clock().now() + 1'000'000; }
void pause(ThreadTeam& team) { team.idle(team.clock().now() + 1000, true); }

TEST_CASE("every thread of a native team runs every phase once, on the same system thread") {
  for (const u32 threads : {1U, 2U, 16U}) {
    NativeTeam team(threads);
    std::vector<std::thread::id> ids(threads);
    std::vector<u32> runs(threads, 0);
    std::vector<u32> moved(threads, 0);
    for (u32 phase = 0; phase < 20; ++phase) {
      CHECK_FALSE(team.run_all([&](u32 t) {
        if (phase == 0) ids[t] = std::this_thread::get_id();
        moved[t] += ids[t] != std::this_thread::get_id();
        ++runs[t];
      }));
    }
    CHECK(runs == std::vector<u32>(threads, 20));
    CHECK(moved == std::vector<u32>(threads, 0));
  }
}

TEMPLATE_TEST_CASE("the caller watches while a team works, and can end a phase", "", NativeTeam, VirtualTeam) {
  TestType team;
  team.begin(3);
  std::atomic<bool> stop{false};
  u32 looks = 0;
  CHECK_FALSE(team.run(
      [&](u32) {
        while (!stop.load()) pause(team);
      },
      [&] {
        if (++looks == 5) stop.store(true);
        return soon(team);
      },
      [] {}));
  CHECK(looks >= 5);
  team.end();
}

TEMPLATE_TEST_CASE("an exception of a thread is returned, stops the others, and leaves the team usable", "", NativeTeam,
                   VirtualTeam) {
  TestType team;
  team.begin(4);
  std::atomic<bool> stop{false};
  const std::exception_ptr failure = team.run(
      [&](u32 t) {
        if (t == 2) throw std::runtime_error("thread two");
        while (!stop.load()) pause(team);
      },
      [&] { return soon(team); }, [&] { stop.store(true); });
  REQUIRE(failure);
  CHECK_THROWS_WITH(std::rethrow_exception(failure), "thread two");
  CHECK_FALSE(team.run_all([](u32) {}));
  team.end();
}

TEMPLATE_TEST_CASE("a thread waits for a word, sleeps until done without a wake, and idles no longer than it is told",
                   "", NativeTeam, VirtualTeam) {
  TestType team;
  std::atomic<u64> word{0};
  std::atomic<bool> waits{false}, asleep{false}, done{false};
  u64 late = 0;
  testing::run_on(team, 3, [&](u32 t) {
    if (t == 0) {
      testing::let_it_wait(team, waits);
      word.store(1, kRelease);  // pairs with wait_while
      testing::let_it_wait(team, asleep);
      done = true;
    } else if (t == 1) {
      waits = true;
      team.wait_while(word, 0);
      CHECK(word.load() == 1);
    } else {
      const u64 now = team.clock().now();
      for (u32 i = 0; i < 10; ++i) team.idle(now, false);
      late = team.clock().now() - now;
      asleep = true;
      team.sleep_until([&] { return done.load(); });
      CHECK(done.load());
    }
  });
  if constexpr (std::same_as<TestType, VirtualTeam>) CHECK(late < 1000);  // a native thread may be descheduled
}

TEMPLATE_TEST_CASE("an exception of watch() is returned, too", "", NativeTeam, VirtualTeam) {
  TestType team;
  team.begin(2);
  std::atomic<bool> stop{false};
  const std::exception_ptr failure = team.run(
      [&](u32) {
        while (!stop.load()) pause(team);
      },
      []() -> u64 { throw std::runtime_error("watch"); }, [&] { stop.store(true); });
  team.end();
  REQUIRE(failure);
  CHECK_THROWS_WITH(std::rethrow_exception(failure), "watch");
}

TEST_CASE("in virtual time the earliest thread runs next, and a phase lasts as long as its last thread") {
  VirtualTeam team;
  team.begin(3);
  const u64 start = team.clock().now();
  std::string order;
  CHECK_FALSE(team.run(
      [&](u32 t) {
        for (u32 i = 0; i < 3; ++i) {
          VirtualTeam::spend((t + 1) * 1'000'000'000);
          order += static_cast<char>('0' + t);
        }
      },
      [&] { return team.clock().now() + 400'000'000; }, [] {}));
  CHECK(order == "001021122");  // at 1, 2, 2, 3, 3, 4, 6, 6 and 9 seconds
  CHECK(team.clock().now() - start == Approx(9e9));
  team.end();
}

TEST_CASE("a barrier holds until all threads have arrived, phase after phase") {
  constexpr u32 kThreads = 6;
  constexpr u32 kPhases = 200;
  Barrier barrier(kThreads);
  std::atomic<u32> arrived{0};
  std::atomic<u32> early{0};
  std::vector<std::thread> threads;
  for (u32 t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (u32 phase = 1; phase <= kPhases; ++phase) {
        arrived.fetch_add(1);
        barrier.arrive_and_wait();
        if (arrived.load() < phase * kThreads) early.fetch_add(1);
        barrier.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(early.load() == 0);
  CHECK(arrived.load() == kThreads * kPhases);
}

TEST_CASE("a meter's rates are operations divided by the seconds in which they were counted") {
  Meter meter;
  meter.start(2);
  meter.add(0, 1000);
  meter.add(1, 3000);
  meter.sample(1e-3);
  meter.add(0, 500);
  meter.sample(1e-3);  // no time has passed: the next sample takes these operations
  meter.add(1, 500);
  meter.sample(2e-3);
  meter.finish(0);
  meter.add(1, 1000);
  meter.sample(2.5e-3);
  meter.finish(1);
  meter.add(1, 1);
  meter.sample(2.6e-3);  // ignored, since all threads have finished
  const Throughput t = meter.throughput(3e-3);
  CHECK(t.operations == 6001);
  CHECK(meter.operations() == 6001);
  REQUIRE(t.per_thread.size() == 2);
  CHECK(t.per_thread[0] == Approx(1500 / 3e-3));
  CHECK(t.per_thread[1] == Approx(4501 / 3e-3));
  CHECK(t.per_second == Approx(6001 / 3e-3));
  REQUIRE(t.series.size() == 3);
  CHECK(t.series[0] == Approx(4e6));
  CHECK(t.series[1] == Approx(1e6));
  CHECK(t.series[2] == Approx(2e6));
  CHECK(*t.jain < 1);
  CHECK(t.seconds == Approx(3e-3));
}

}  // namespace
}  // namespace latchlab
