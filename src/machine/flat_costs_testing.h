// Costs of a machine with one distance: every reference takes 1.1 ns, and a line that another fiber has written, or
// has, takes 50 ns more. One fiber after the other gets a line. It is the smallest model on which threads that share
// lines are slower than threads that do not.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "src/machine/simulated_costs.h"
#include "src/machine/simulated_world.h"

namespace latchlab::testing {

class FlatCosts : public Costs {
 public:
  static constexpr u64 kHit = ModelledWorld::kTicksPerNs * 11 / 10;
  static constexpr u64 kTransfer = ModelledWorld::kTicksPerNs * 50;
  static constexpr u64 kOther = ModelledWorld::kTicksPerNs * 10;  // a begin, a commit, an allocation, ...

  u64 start(u32) override { return 0; }
  u64 cost(const FiberStep&) override { return kOther; }
  u64 wake(u32, u64 asleep, u64 stored) override { return std::max(asleep, stored); }
  u64 reference(const FiberReference& reference) override {
    if (reference.step.event == Event::kPrefetch) return kHit;
    Line& line = lines_[reference.step.line];
    const u64 me = u64{1} << reference.step.fiber % 64;
    const bool writes = reference.step.event != Event::kLoad;
    const bool has = writes ? line.holders == me : (line.holders & me) != 0;
    line.holders = writes ? me : line.holders | me;
    if (has) return kHit;
    line.free_at = std::max(line.free_at, reference.step.clock) + kTransfer;
    return line.free_at - reference.step.clock + kHit;
  }

 private:
  struct Line {
    u64 holders = 0;
    u64 free_at = 0;
  };
  std::unordered_map<u32, Line> lines_;
};

}  // namespace latchlab::testing
