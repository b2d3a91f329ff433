// The machine of a modelled run, as --machine names it: its file with the changes, its scale and its topology.
//
// A data set of 4M keys stands for one of 64M if the caches that matter are as much smaller. So by default, where
// neither the records nor a scale are given, the sizes of L3 and of the second TLB are divided by 16, and so are the
// times between and before the kernel's marks. Everywhere else the machine is as its file says.
#pragma once

#include <memory>
#include <optional>

#include "harness/config/config.h"
#include "harness/host/environment.h"
#include "harness/host/topology.h"
#include "src/base/spec.h"
#include "src/machine/allocator_model.h"
#include "src/model/machine_file.h"

namespace latchlab {

struct ModelledMachine {
  static constexpr double kStandardScale = 16;
  static constexpr u64 kStandardRecords = 4'000'000;

  model::MachineFile file;  ///< with its changes, scaled down
  double scale = 1;         ///< what MachineFile::scale_down() has divided by
  Topology topology;

  /// Returns the operations of a warm-up: as many as all L3 caches have lines.
  [[nodiscard]] u64 warmup_operations() const;
};

/// Adds the option `scale` to a machine, unless it is there: 1, or the standard one. The changes of a machine of a
/// file, file:PATH,qpi.gbps=2x, become options of the spec. Returns true if it has added the option.
bool complete_machine(Spec& spec, bool standard_scale);
/// Sets the scale of a complete spec to 1.
void set_whole(Spec& spec);

/// Returns the machine of a spec: haswell-ep:scale=16,qpi.gbps=2x or file:PATH,scale=16. Throws InputError.
[[nodiscard]] std::shared_ptr<const ModelledMachine> modelled_machine(const Spec& spec);

/// Returns the model of the allocator that serves the blocks of a run; nothing for arenas.
[[nodiscard]] std::optional<ModelledMalloc> modelled_malloc(Alloc);

/// Returns what a result says of the machine of a run, of which it is given the seed and the length of the warm-up.
[[nodiscard]] ModelInfo info_of(const ModelledMachine& machine, u64 seed, u64 warmup_operations);

/// Returns the topology of a machine. The number of a processor is that of its hardware thread (model::Placement), and
/// a node is a cluster. A modelled run is on this system.
[[nodiscard]] Topology topology_of(const model::Parameters& machine);

}  // namespace latchlab
