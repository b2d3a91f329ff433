#include "harness/trial/rounds.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>

#include "harness/host/barrier.h"
#include "harness/host/native_team.h"
#include "harness/host/run_on_testing.h"
#include "harness/host/virtual_team_testing.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using testing::run_on;
using testing::VirtualTeam;

/// The largest total time of reading the clock and waiting.
constexpr double kSlack = 20e-6;

void spend_ms(u64 ms) { VirtualTeam::spend(ms * 1'000'000); }

TEST_CASE("no thread runs before all are ready, and the first to finish ends the round for all") {
  constexpr u32 kThreads = 4;
  constexpr u32 kRounds = 300;
  std::atomic<bool> stop{false};
  NativeTeam team;
  Rounds rounds(team, stop);
  std::atomic<u32> preparing{0};
  std::atomic<u32> overlaps{0};
  Barrier all(kThreads);
  for (u32 phase = 0; phase < 2; ++phase) {
    preparing = kThreads;
    rounds.start(kThreads, Rounds::Cut::kRounds);
    CHECK_FALSE(rounds.begun());
    run_on(team, kThreads, [&](u32 t) {
      Rounds::Participant part(rounds);
      for (u32 round = 0; round < kRounds; ++round) {
        preparing.fetch_sub(1);
        part.begin();
        if (preparing.load() != 0) overlaps.fetch_add(1);
        // One thread has little to do; the others go on until it has finished.
        while (t != round % kThreads && !rounds.halted().load(kRelaxed)) team.idle(0, true);
        part.end();
        all.arrive_and_wait();
        preparing.fetch_add(1);
        all.arrive_and_wait();
      }
    });
    CHECK(overlaps.load() == 0);
    CHECK(rounds.begun());
    CHECK(rounds.seconds() > 0);
    CHECK(rounds.seconds() <= rounds.wall_seconds());
  }
}

TEST_CASE("time between rounds does not count, and all time in them does, waiting included") {
  const std::atomic<bool> stop{false};
  VirtualTeam team;
  Rounds rounds(team, stop);
  rounds.start(2, Rounds::Cut::kRounds);
  run_on(team, 2, [&](u32) {
    Rounds::Participant part(rounds);
    for (u32 round = 0; round < 3; ++round) {
      spend_ms(20);
      part.begin();
      spend_ms(5);
      part.end();
    }
  });
  CHECK(rounds.seconds() == Approx(3 * .005).margin(kSlack));
  CHECK(rounds.wall_seconds() == Approx(3 * .005 + 2 * .020).margin(kSlack));
}

TEST_CASE("time between a thread's stop and its end does not count in the round") {
  const std::atomic<bool> stop{false};
  VirtualTeam team;
  Rounds rounds(team, stop);
  rounds.start(1, Rounds::Cut::kRounds);
  run_on(team, 1, [&](u32) {
    Rounds::Participant part(rounds);
    part.begin();
    part.stop();
    CHECK(rounds.halted().load());
    spend_ms(20);
    part.end();
    part.begin();
    CHECK_FALSE(rounds.halted().load());
    part.end();
  });
  CHECK(rounds.seconds() < kSlack);
  CHECK(rounds.wall_seconds() == Approx(.020).margin(kSlack));
}

TEST_CASE("a phase ends with the last stop, in whatever order threads end their rounds") {
  const std::atomic<bool> stop{false};
  VirtualTeam team;
  Rounds rounds(team, stop);
  rounds.start(2, Rounds::Cut::kRounds);
  run_on(team, 2, [&](u32 t) {
    Rounds::Participant part(rounds);
    part.begin();
    if (t == 0) part.stop();
    spend_ms(t == 0 ? 5 : 3);
    part.end();
  });
  CHECK(rounds.wall_seconds() == Approx(.003).margin(kSlack));
  CHECK(rounds.seconds() == Approx(.003 / 2).margin(kSlack));
}

TEST_CASE("a late thread lengthens a round by its share only") {
  const std::atomic<bool> stop{false};
  VirtualTeam team;
  Rounds rounds(team, stop);
  rounds.start(2, Rounds::Cut::kRounds);
  run_on(team, 2, [&](u32 t) {
    Rounds::Participant part(rounds);
    for (u32 round = 0; round < 20; ++round) {
      part.begin();
      if (t == round % 2) spend_ms(2);
      part.end();
    }
  });
  CHECK(rounds.seconds() == Approx(20 * .002 / 2).margin(kSlack));
  CHECK(rounds.wall_seconds() == Approx(20 * .002).margin(2 * kSlack));
}

TEMPLATE_TEST_CASE("a round goes on without threads that leave, also by an exception", "", NativeTeam, VirtualTeam) {
  const std::atomic<bool> stop{false};
  TestType team;
  Rounds rounds(team, stop);
  rounds.start(3, Rounds::Cut::kRounds);
  u32 rounds_of_last = 0;
  run_on(team, 3, [&](u32 t) {
    try {
      Rounds::Participant part(rounds);
      if (t == 0) return;
      for (u32 round = 0; round < 50; ++round) {
        part.begin();
        if (t == 1 && round == 10) throw std::runtime_error("out");
        part.end();
        if (t == 2) ++rounds_of_last;
      }
    } catch (const std::runtime_error&) {}
  });
  CHECK(rounds_of_last == 50);
}

TEMPLATE_TEST_CASE("a stop ends the round that runs or the one that begins", "", NativeTeam, VirtualTeam) {
  std::atomic<bool> stop{false};
  TestType team;
  Rounds rounds(team, stop);
  rounds.start(2, Rounds::Cut::kRounds);
  run_on(team, 3, [&](u32 t) {
    const auto pause = [&] { team.idle(team.clock().now() + 1000, true); };
    if (t == 2) {
      while (!rounds.begun()) pause();
      stop.store(true);
      rounds.halt();
      return;
    }
    Rounds::Participant part(rounds);
    while (!stop.load()) {
      part.begin();
      while (!rounds.halted().load(kRelaxed)) pause();
      part.end();
    }
  });
  rounds.start(1, Rounds::Cut::kRounds);
  run_on(team, 1, [&](u32) {
    Rounds::Participant part(rounds);
    part.begin();
    CHECK(rounds.halted().load());
    part.end();
  });
}

TEST_CASE("a window lasts from the first thread's beginning to the last one's leaving, however late that is") {
  const std::atomic<bool> stop{false};
  VirtualTeam team;
  Rounds rounds(team, stop);
  rounds.start(3, Rounds::Cut::kWindow);
  run_on(team, 3, [&](u32 t) {
    spend_ms(10 * t);
    Rounds::Participant part(rounds);
    part.begin();
    part.end();
    part.begin();
    CHECK_FALSE(rounds.halted().load());
    spend_ms(1);
  });
  CHECK(rounds.seconds() == Approx(.021).margin(kSlack));
  CHECK(rounds.seconds() == rounds.wall_seconds());
}

TEST_CASE("the window of an open loop opens when all threads are ready or have left, and closes with the last") {
  const std::atomic<bool> stop{false};
  for (const bool one_fails : {false, true}) {
    CAPTURE(one_fails);
    VirtualTeam team;
    Rounds rounds(team, stop);
    rounds.start(3, Rounds::Cut::kOpenLoop);
    std::array<u64, 3> ready{}, begun{};
    run_on(team, 3, [&](u32 t) {
      Rounds::Participant part(rounds);
      spend_ms(5 * t);
      CHECK_FALSE(rounds.begun());
      ready[t] = team.clock().now();
      if (one_fails && t == 2) return;
      part.begin();
      begun[t] = team.clock().now();
      part.end();
      spend_ms(5 * t);
    });
    const u64 opened = *rounds.begun();
    CHECK(opened >= *std::max_element(ready.begin(), ready.end()));
    CHECK(begun[0] >= opened);
    CHECK(rounds.seconds() == Approx(one_fails ? .005 : .010).margin(kSlack));
    CHECK(rounds.seconds() == rounds.wall_seconds());
  }
}

TEST_CASE("a phase that all threads have left can be resumed, and its time is the sum of its parts") {
  for (const auto cut : {Rounds::Cut::kRounds, Rounds::Cut::kWindow}) {
    const std::atomic<bool> stop{false};
    VirtualTeam team;
    Rounds rounds(team, stop);
    rounds.start(2, cut);
    for (u32 part_of_phase = 1; part_of_phase <= 3; ++part_of_phase) {
      if (part_of_phase > 1) rounds.resume(2);
      run_on(team, 2, [&](u32) {
        Rounds::Participant part(rounds);
        part.begin();
        spend_ms(5);
      });
      CHECK(rounds.seconds() == Approx(part_of_phase * .005).margin(kSlack));
      team.outside() += 5'000'000;
    }
    CHECK(rounds.wall_seconds() - rounds.seconds() == Approx(.010).margin(kSlack));  // the time between the parts
  }
}

}  // namespace
}  // namespace latchlab
