// A team of threads on a modelled machine: fibers in its virtual time. The team's own words and waits are no references
// to memory. So they cost nothing, except the time that a thread waits.
#pragma once

#include "harness/host/fiber_team.h"
#include "src/machine/model_costs.h"
#include "src/machine/simulated_world.h"
#include "src/model/machine_file.h"
#include "src/model/model.h"

namespace latchlab {

class ModelledTeam : public FiberTeam<ModelledWorld> {
 public:
  /// Places thread i on hardware thread places[i] of the machine, and the servers of a policy on the last `servers` of
  /// the places. The seed is the model's. Throws InputError if there is no such thread. While the team lives, the
  /// modelled world tells its model about pages.
  ModelledTeam(const model::MachineFile& machine, const model::Placement& places, u64 seed, u32 servers = 0);
  ~ModelledTeam() override;
  ModelledTeam(const ModelledTeam&) = delete;
  ModelledTeam& operator=(const ModelledTeam&) = delete;

  /// Throws std::invalid_argument for more threads than there are places, or for fewer beside servers.
  void begin(u32 threads) override;
  void load(bool loading) override { costs_.load(loading); }
  void measure() override { model_.restart_account(ticks_outside()); }
  void measured() override { model_.end_account(ticks_outside()); }
  [[nodiscard]] const model::Model& processor() const { return model_; }
  [[nodiscard]] std::optional<u64> ran_ns() override { return std::nullopt; }  // making requests takes no time

 private:
  [[nodiscard]] Costs& costs_from(u64 start_ns) override;
  [[nodiscard]] model::Ticks ticks_outside() { return outside() * ModelledWorld::kTicksPerNs; }

  // The model counts the marks of NUMA balancing from 0, so a later start would mark many pages at once. Code may take
  // 0 for an unset time.
  static constexpr u64 kStartNs = 1000;

  const u32 places_;  // of the threads
  const u32 servers_;
  model::Model model_;
  ModelCosts costs_;
  Costs* before_;  // that the world had before
};

}  // namespace latchlab
