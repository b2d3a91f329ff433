// A team of fibers in the virtual time of a world (simulated_world.h). The same program takes the same turns and the
// same virtual time on every machine and in every run. A second of virtual time takes only as much real time as its
// work.
//
// Virtual time passes only as the world's costs say, when code spends it, and when a thread waits. Fibers switch only
// there, so the code in between is atomic. A loop that does none of this never ends.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "harness/host/thread_team.h"
#include "src/machine/simulated_costs.h"
#include "src/machine/simulated_world.h"

namespace latchlab {

template <class WorldOfTeam>
class FiberTeam : public ThreadTeam {
 public:
  /// Keeps the calling fiber busy for this long. Has no effect outside fibers.
  static void spend(u64 ns) {
    if (!WorldOfTeam::inside()) return;
    WorldOfTeam::spend(ns);
    WorldOfTeam::await_turn();
  }

  [[nodiscard]] Clock& clock() override { return clock_; }
  /// The time that the clock shows while no thread runs.
  [[nodiscard]] u64& outside() { return clock_.outside; }

  /// Starts one thread less than the world has fibers, at most, since one fiber watches. Throws std::invalid_argument
  /// for more.
  void begin(u32 threads) override {
    if (threads >= WorldOfTeam::kMaxFibers) {
      throw std::invalid_argument("a team in virtual time has at most " + std::to_string(WorldOfTeam::kMaxFibers - 1) +
                                  " threads");
    }
    threads_ = threads;
  }
  void end() override { threads_ = 0; }

  [[nodiscard]] std::exception_ptr run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                       const std::function<void()>& on_failure) override {
    std::exception_ptr failure;
    u32 busy = threads_;
    u64 end = clock_.outside;
    const auto attempt = [&](const auto& what) {
      try {
        what();
      } catch (...) {
        if (!failure) failure = std::current_exception();
        on_failure();
      }
    };
    const auto outcome = WorldOfTeam::get().run(threads_ + 1, costs_from(clock_.outside), ~u64{0}, [&](u32 fiber) {
      if (fiber == threads_) {
        attempt([&] {
          while (busy > 0) wait_until(watch());  // NOLINT(bugprone-infinite-loop): the other fibers count it down
        });
        return;
      }
      attempt([&] { task(fiber); });
      --busy;
      end = std::max(end, WorldOfTeam::get().now());
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
    if (WorldOfTeam::inside()) return wait_until(std::min(until_ns, WorldOfTeam::get().now() + kWaitNs));
    clock_.outside += std::min(until_ns - std::min(until_ns, clock_.outside), kWaitNs);
  }

  bool pin(u32 cpu) override {
    seats_[WorldOfTeam::get().fiber()] = cpu;
    return true;
  }
  bool place(const PagePlacement&) override { return true; }
  [[nodiscard]] OrReason<std::unique_ptr<Preemption>> preemption(u64) override {
    return OrReason<std::unique_ptr<Preemption>>::missing("virtual time has no signals");
  }
  [[nodiscard]] std::optional<u32> cpu() override { return seats_[WorldOfTeam::get().fiber()]; }
  [[nodiscard]] std::optional<u64> ran_ns() override { return clock_.now(); }
  [[nodiscard]] std::optional<ProcessorTime> processor_time() override {
    return ProcessorTime{.ran_ns = clock_.now(), .waited_ns = 0, .sleeps = 0};
  }
  [[nodiscard]] Limits limits(const LimitsPlan& plan) override {
    Limits none = no_limits("virtual time");
    none.footprint = plan.footprint;  // the requested size
    return none;
  }

 protected:
  /// `look_ns`: the time that a reading of the clock takes.
  explicit FiberTeam(u64 look_ns) : clock_(look_ns) {}
  /// Returns the costs of the next phase, in which all threads start at this time, in ns.
  [[nodiscard]] virtual Costs& costs_from(u64 start_ns) = 0;

 private:
  static constexpr u64 kWaitNs = 1000;  // time between two checks of a waiting thread
  static constexpr u64 kEndOfTimes = 3'600'000'000'000;

  class VirtualClock final : public Clock {
   public:
    explicit VirtualClock(u64 look_ns) : look_ns_(look_ns) {}
    u64 now() override {
      if (!WorldOfTeam::inside()) return outside += look_ns_;
      WorldOfTeam::spend(look_ns_);
      return WorldOfTeam::get().now();
    }
    u64 outside = 1'000'000'000;  // not 0, which code may take for an unset time

   private:
    const u64 look_ns_;
  };

  static void wait_until(u64 ns) {
    const u64 now = WorldOfTeam::get().now();
    if (now > kEndOfTimes) WorldOfTeam::get().fail("an hour of virtual time has passed");
    WorldOfTeam::spend(ns > now ? ns - now : 1);
    WorldOfTeam::await_turn();
  }
  static void look_again() { wait_until(WorldOfTeam::get().now() + kWaitNs); }

  u32 threads_ = 0;
  std::array<std::optional<u32>, WorldOfTeam::kMaxFibers> seats_;
  VirtualClock clock_;
};

}  // namespace latchlab
