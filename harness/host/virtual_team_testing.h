// A team of fibers in virtual time. The same program takes the same turns and the same virtual time on every machine
// and in every run. A second of virtual time takes only as much real time as its work.
//
// Virtual time passes only when an operation of a test's index calls spend(), when a fiber reads the clock, and when it
// waits. Fibers switch only where they spend time or wait, so the code in between is atomic. A loop that does neither
// never ends.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "harness/host/thread_team.h"
#include "src/machine/simulated_costs.h"
#include "src/machine/simulated_world.h"

namespace latchlab::testing {

inline constexpr u64 kSecond = 1'000'000'000;  ///< a second of virtual time, in ns

class VirtualTeam : public ThreadTeam {
 public:
  /// `look_ns`: the time that a reading of the clock takes.
  explicit VirtualTeam(u64 look_ns = 20) : clock_(look_ns) {}

  /// Keeps the calling fiber busy for this long. Has no effect outside fibers.
  static void spend(u64 ns) {
    if (!World::inside()) return;
    World::spend(ns);
    World::await_turn();
  }

  [[nodiscard]] Clock& clock() override { return clock_; }
  /// The time that the clock shows while no thread runs.
  [[nodiscard]] u64& outside() { return clock_.outside; }

  /// Starts at most 63 threads, since one more fiber watches. Throws std::invalid_argument for more.
  void begin(u32 threads) override {
    if (threads >= World::kMaxFibers) throw std::invalid_argument("a virtual team has at most 63 threads");
    threads_ = threads;
  }
  void end() override { threads_ = 0; }

  [[nodiscard]] std::exception_ptr run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                       const std::function<void()>& on_failure) override {
    std::exception_ptr failure;
    u32 busy = threads_;
    u64 end = clock_.outside;
    Start costs(clock_.outside);
    const auto attempt = [&](const auto& what) {
      try {
        what();
      } catch (...) {
        if (!failure) failure = std::current_exception();
        on_failure();
      }
    };
    const World::Outcome outcome = World::get().run(threads_ + 1, costs, ~u64{0}, [&](u32 fiber) {
      if (fiber == threads_) {
        attempt([&] {
          while (busy > 0) wait_until(watch());
        });
        return;
      }
      attempt([&] { task(fiber); });
      --busy;
      end = std::max(end, World::get().now());
    });
    clock_.outside = end;
    if (!outcome.failure.empty()) throw std::logic_error(outcome.failure);
    return failure;
  }

  void wait_while(const std::atomic<u64>& word, u64 value) override {
    while (word.load(kRelaxed) == value) look_again();  // relaxed, as everywhere here: all fibers share one thread
  }
  void sleep_until(const std::function<bool()>& done) override {
    while (!done()) look_again();
  }
  void wake() override {}
  void idle(u64 until_ns, bool) override {
    if (World::inside()) return wait_until(std::min(until_ns, World::get().now() + kWaitNs));
    clock_.outside += std::min(until_ns - std::min(until_ns, clock_.outside), kWaitNs);
  }

  bool pin(u32 cpu) override {
    seats_[World::get().fiber()] = cpu;
    return true;
  }
  bool place(const PagePlacement&) override { return true; }
  [[nodiscard]] OrReason<std::unique_ptr<Preemption>> preemption(u64) override {
    return OrReason<std::unique_ptr<Preemption>>::missing("virtual time has no signals");
  }
  [[nodiscard]] std::optional<u32> cpu() override { return seats_[World::get().fiber()]; }
  [[nodiscard]] std::optional<u64> ran_ns() override { return clock_.now(); }
  [[nodiscard]] std::optional<ProcessorTime> processor_time() override {
    return ProcessorTime{.ran_ns = clock_.now(), .waited_ns = 0, .sleeps = 0};
  }
  [[nodiscard]] Limits limits(const LimitsPlan& plan) override {
    Limits none = no_limits("virtual time");
    none.footprint = plan.footprint;  // the requested size
    return none;
  }

 private:
  static constexpr u64 kWaitNs = 1000;  // time between two checks of a waiting thread
  static constexpr u64 kEndOfTimes = 3'600'000'000'000;

  class VirtualClock final : public Clock {
   public:
    explicit VirtualClock(u64 look_ns) : look_ns_(look_ns) {}
    u64 now() override {
      if (!World::inside()) return outside += look_ns_;
      World::spend(look_ns_);
      return World::get().now();
    }
    u64 outside = 1'000'000'000;  // not 0, which code may take for an unset time

   private:
    const u64 look_ns_;
  };

  /// Costs under which all fibers start at the same time; the team uses nothing else of them.
  class Start final : public Costs {
   public:
    explicit Start(u64 at) : at_(at) {}
    u64 start(u32) override { return at_; }
    u64 cost(const FiberStep&) override { return 0; }
    u64 wake(u32, u64 asleep, u64) override { return asleep; }

   private:
    const u64 at_;
  };

  static void wait_until(u64 ns) {
    const u64 now = World::get().now();
    if (now > kEndOfTimes) World::get().fail("an hour of virtual time has passed");
    World::spend(ns > now ? ns - now : 1);
    World::await_turn();
  }
  static void look_again() { wait_until(World::get().now() + kWaitNs); }

  u32 threads_ = 0;
  std::array<std::optional<u32>, World::kMaxFibers> seats_;
  VirtualClock clock_;
};

}  // namespace latchlab::testing
