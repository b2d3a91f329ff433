#include "harness/host/modelled_team.h"

#include <stdexcept>
#include <string>

namespace latchlab {

ModelledTeam::ModelledTeam(const model::MachineFile& machine, const model::Placement& places, u64 seed, u32 servers)
    : FiberTeam(0),
      places_(static_cast<u32>(places.size()) - servers),
      servers_(servers),
      model_(machine, places, seed),
      costs_(model_, places_, servers),
      before_(ModelledWorld::get().exchange_costs(&costs_)) {
  outside() = kStartNs;
}

ModelledTeam::~ModelledTeam() { ModelledWorld::get().exchange_costs(before_); }

void ModelledTeam::begin(u32 threads) {
  if (threads > places_ || (servers_ != 0 && threads != places_)) {
    throw std::invalid_argument("a modelled team of " + std::to_string(threads) + " threads has " +
                                std::to_string(places_) + " places");
  }
  FiberTeam::begin(threads);
}

Costs& ModelledTeam::costs_from(u64 start_ns) {
  costs_.start_at(start_ns * ModelledWorld::kTicksPerNs);
  return costs_;
}

}  // namespace latchlab
