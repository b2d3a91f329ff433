// `harness doctor`: says what this machine can and cannot measure, and what to change. It changes nothing itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/pmu_access.h"
#include "harness/host/topology.h"
#include "src/arch/features.h"
#include "src/arch/heavy_fence.h"
#include "src/model/machine_file.h"

namespace latchlab {

enum class Grade {
  kGood,     ///< measures as it should
  kMind,     ///< measures, but results suffer or differ; the remedy says what to do
  kMissing,  ///< cannot be measured here
};

/// One line of the diagnosis.
struct Finding {
  Grade grade = Grade::kGood;
  std::string subject;  ///< "transactions", "NUMA balancing", ...
  std::string text;     ///< the observation
  std::string remedy;   ///< what to change; empty if nothing
};

/// Facts that only the running machine can tell; tests invent them.
struct Probes {
  CpuFlags flags;
  RtmProbe rtm;
  HleProbe hle;
  HeavyFence heavy_fence = HeavyFence::kMembarrier;
  PmuAccess pmu;
  std::optional<std::string> unplaced;  ///< why mbind is refused, in one clause; nothing if it is allowed
  std::optional<std::string> unseen;    ///< why move_pages is refused, in one clause; nothing if it is allowed
};

/// Runs the probes, which takes some milliseconds.
[[nodiscard]] Probes run_probes();

/// Returns all findings, in the order in which they are shown.
[[nodiscard]] std::vector<Finding> diagnose(const Topology& topology, const Probes& probes, const Root& root = {});

/// Returns the findings as text for a terminal, each with its remedy.
[[nodiscard]] std::string doctor_text(const std::vector<Finding>& findings);

/// Returns the values of a modelled machine that are neither measured nor published, one a line, with their sources;
/// the least certain ones come last.
[[nodiscard]] std::string model_text(const model::MachineFile& machine);

}  // namespace latchlab
