// A team of fibers in the race finder's world, for tests of the harness. Time passes only when an operation of a test's
// index calls spend(), when a fiber reads the clock, and when it waits.
#pragma once

#include "harness/host/fiber_team.h"
#include "src/machine/simulated_costs.h"
#include "src/machine/simulated_world.h"

namespace latchlab::testing {

inline constexpr u64 kSecond = 1'000'000'000;  ///< a second of virtual time, in ns

class VirtualTeam : public FiberTeam<World> {
 public:
  /// `look_ns`: the time that a reading of the clock takes.
  explicit VirtualTeam(u64 look_ns = 20) : FiberTeam(look_ns) {}

 private:
  /// Costs under which all fibers start at the same time; the team uses nothing else of them.
  struct Start final : Costs {
    u64 start(u32) override { return at; }
    u64 cost(const FiberStep&) override { return 0; }
    u64 wake(u32, u64 asleep, u64) override { return asleep; }

    u64 at = 0;
  };

  [[nodiscard]] Costs& costs_from(u64 start_ns) override {
    costs_.at = start_ns;
    return costs_;
  }

  Start costs_;
};

}  // namespace latchlab::testing
