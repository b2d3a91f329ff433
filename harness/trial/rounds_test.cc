#include "harness/trial/rounds.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "harness/host/barrier.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using std::chrono::milliseconds;

void on_threads(u32 threads, const std::function<void(u32)>& task) {
  std::vector<std::thread> crew;
  for (u32 t = 0; t < threads; ++t) crew.emplace_back([&, t] { task(t); });
  for (std::thread& thread : crew) thread.join();
}

TEST_CASE("in rounds nobody runs while another is not ready, and who is through first ends it for all") {
  constexpr u32 kThreads = 4;
  constexpr u32 kRounds = 300;
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  std::atomic<u32> preparing{0};
  std::atomic<u32> overlaps{0};
  Barrier all(kThreads);
  for (u32 phase = 0; phase < 2; ++phase) {
    preparing = kThreads;
    rounds.start(kThreads, Rounds::Cut::kRounds);
    CHECK_FALSE(rounds.begun());
    on_threads(kThreads, [&](u32 t) {
      Rounds::Part part(rounds);
      for (u32 round = 0; round < kRounds; ++round) {
        preparing.fetch_sub(1);
        part.begin();
        if (preparing.load() != 0) overlaps.fetch_add(1);
        // One of them has little to do; the others go on until it is through.
        while (t != round % kThreads && !rounds.halted().load(kRelaxed)) std::this_thread::yield();
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

TEST_CASE("what happens between rounds does not count, and all that threads wait for in them does") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(2, Rounds::Cut::kRounds);
  std::atomic<Clock::duration::rep> inside{0};
  on_threads(2, [&](u32) {
    Rounds::Part part(rounds);
    for (u32 round = 0; round < 3; ++round) {
      std::this_thread::sleep_for(milliseconds(20));
      part.begin();
      const auto start = Clock::now();
      std::this_thread::sleep_for(milliseconds(5));
      inside += (Clock::now() - start).count();
      part.end();
    }
  });
  const double slept = std::chrono::duration<double>(Clock::duration(inside.load())).count();
  CHECK(rounds.seconds() >= slept / 2);
  CHECK(rounds.wall_seconds() - rounds.seconds() >= 2 * .020);
}

TEST_CASE("what a thread does between its stop and its end takes no time of the round") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(1, Rounds::Cut::kRounds);
  {
    Rounds::Part part(rounds);
    part.begin();
    part.stop();
    CHECK(rounds.halted().load());
    std::this_thread::sleep_for(milliseconds(20));
    part.end();
    part.begin();
    CHECK_FALSE(rounds.halted().load());
    part.end();
  }
  CHECK(rounds.wall_seconds() - rounds.seconds() >= .020);
}

TEST_CASE("one who stays behind delays a round by his share") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(2, Rounds::Cut::kRounds);
  // Every thread's times before and after each of its calls: between them is what the round goes by, however
  // long the system keeps a thread from its processor.
  constexpr u32 kRounds = 20;
  struct Times {
    Clock::time_point to_begin, begun, to_end, ended;
  };
  std::array<std::array<Times, kRounds>, 2> times;
  on_threads(2, [&](u32 t) {
    Rounds::Part part(rounds);
    for (u32 round = 0; round < kRounds; ++round) {
      Times& mine = times[t][round];
      mine.to_begin = Clock::now();
      part.begin();
      mine.begun = Clock::now();
      if (t == round % 2) std::this_thread::sleep_for(milliseconds(2));
      mine.to_end = Clock::now();
      part.end();
      mine.ended = Clock::now();
    }
  });
  double least = 0;
  double most = 0;
  for (u32 round = 0; round < kRounds; ++round) {
    const auto earliest = std::max(times[0][round].to_begin, times[1][round].to_begin);
    const auto latest = std::min(times[0][round].begun, times[1][round].begun);
    for (const auto& of_thread : times) {
      least += std::chrono::duration<double>(of_thread[round].to_end - latest).count() / 2;
      most += std::chrono::duration<double>(of_thread[round].ended - earliest).count() / 2;
    }
  }
  CHECK(rounds.seconds() >= least * (1 - 1e-9));
  CHECK(rounds.seconds() <= most * (1 + 1e-9));
}

TEST_CASE("a round goes on without those who leave, by an exception too") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(3, Rounds::Cut::kRounds);
  std::atomic<u32> rounds_of_last{0};
  on_threads(3, [&](u32 t) {
    try {
      Rounds::Part part(rounds);
      if (t == 0) return;
      for (u32 round = 0; round < 50; ++round) {
        part.begin();
        if (t == 1 && round == 10) throw std::runtime_error("out");
        part.end();
        if (t == 2) rounds_of_last.fetch_add(1);
      }
    } catch (const std::runtime_error&) {
    }
  });
  CHECK(rounds_of_last.load() == 50);
}

TEST_CASE("a stop ends the round that runs and the one that begins") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(2, Rounds::Cut::kRounds);
  std::thread stopper([&] {
    while (!rounds.begun()) std::this_thread::yield();
    stop.store(true);
    rounds.halt();
  });
  on_threads(2, [&](u32) {
    Rounds::Part part(rounds);
    while (!stop.load()) {
      part.begin();
      while (!rounds.halted().load(kRelaxed)) std::this_thread::yield();
      part.end();
    }
  });
  stopper.join();
  rounds.start(1, Rounds::Cut::kRounds);
  on_threads(1, [&](u32) {
    Rounds::Part part(rounds);
    part.begin();
    CHECK(rounds.halted().load());
    part.end();
  });
}

TEST_CASE("one window lasts from the first who begins to the last who leaves, however late he is") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  rounds.start(3, Rounds::Cut::kWindow);
  std::array<Clock::time_point, 3> begun, to_leave;
  std::atomic<bool> not_halted{true};
  on_threads(3, [&](u32 t) {
    std::this_thread::sleep_for(milliseconds(t * 10));
    Rounds::Part part(rounds);
    part.begin();
    begun[t] = Clock::now();
    part.end();
    part.begin();
    if (rounds.halted().load()) not_halted = false;
    to_leave[t] = Clock::now();
  });
  CHECK(not_halted.load());
  const auto first = *std::min_element(begun.begin(), begun.end());
  const auto last = *std::max_element(to_leave.begin(), to_leave.end());
  CHECK(rounds.seconds() >= std::chrono::duration<double>(last - first).count());
  CHECK(rounds.seconds() == rounds.wall_seconds());
}

TEST_CASE("the window of an open loop opens when all are ready or have left, and closes with the last") {
  std::atomic<bool> stop{false};
  Rounds rounds(stop);
  for (const bool one_fails : {false, true}) {
    CAPTURE(one_fails);
    rounds.start(3, Rounds::Cut::kOpenLoop);
    std::array<Clock::time_point, 3> ready, begun, to_leave;
    std::atomic<bool> early{false};
    on_threads(3, [&](u32 t) {
      Rounds::Part part(rounds);
      std::this_thread::sleep_for(milliseconds(t * 5));
      if (rounds.begun()) early = true;
      ready[t] = to_leave[t] = Clock::now();
      if (one_fails && t == 2) return;
      part.begin();
      begun[t] = Clock::now();
      part.end();
      std::this_thread::sleep_for(milliseconds(t * 5));
      to_leave[t] = Clock::now();
    });
    CHECK_FALSE(early.load());
    const auto opened = *rounds.begun();
    CHECK(opened >= *std::max_element(ready.begin(), ready.end()));
    CHECK(begun[0] >= opened);
    const auto last = *std::max_element(to_leave.begin(), to_leave.end());
    CHECK(rounds.seconds() >= std::chrono::duration<double>(last - opened).count());
    CHECK(rounds.seconds() == rounds.wall_seconds());
  }
}

TEST_CASE("a phase that all have left can be resumed, and its time is that of all its parts") {
  for (const auto cut : {Rounds::Cut::kRounds, Rounds::Cut::kWindow}) {
    std::atomic<bool> stop{false};
    Rounds rounds(stop);
    rounds.start(2, cut);
    double before = 0;
    for (u32 part_of_phase = 0; part_of_phase < 3; ++part_of_phase) {
      if (part_of_phase > 0) rounds.resume(2);
      on_threads(2, [&](u32) {
        Rounds::Part part(rounds);
        part.begin();
        std::this_thread::sleep_for(milliseconds(5));
      });
      const double now = rounds.seconds();
      CHECK(now - before >= .005);
      CHECK(rounds.wall_seconds() >= now);
      before = now;
      std::this_thread::sleep_for(milliseconds(5));
    }
    CHECK(rounds.wall_seconds() - rounds.seconds() >= .010);   // what was between them
  }
}

}  // namespace
}  // namespace latchlab
