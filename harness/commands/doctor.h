// `harness doctor`: what this machine can and cannot measure, and what to change. It looks, and changes
// nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/pmu_access.h"
#include "harness/host/topology.h"
#include "src/arch/features.h"
#include "src/arch/heavy_fence.h"

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
  std::string text;     ///< what was seen
  std::string remedy;   ///< what to change; empty if nothing
};

/// What only the running machine can tell; tests make it up.
struct Probes {
  CpuFlags flags;
  RtmProbe rtm;
  HleProbe hle;
  HeavyFence heavy_fence = HeavyFence::kMembarrier;
  PmuAccess pmu;
  std::optional<std::string> unplaced;  ///< why mbind is refused, in one clause; nothing if it is allowed
  std::optional<std::string> unseen;    ///< the same of move_pages
};

/// Runs the probes: some milliseconds.
[[nodiscard]] Probes run_probes();

/// All findings, in the order in which they are shown.
[[nodiscard]] std::vector<Finding> diagnose(const Topology& topology, const Probes& probes, const Root& root = {});

/// The findings as text for a terminal, each with its remedy, ending in a newline.
[[nodiscard]] std::string doctor_text(const std::vector<Finding>& findings);

}  // namespace latchlab
