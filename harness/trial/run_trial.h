// One run, phase after phase: load, verify, warm up, measure, check.
#pragma once

#include "harness/config/plan.h"
#include "harness/host/progress.h"
#include "harness/host/thread_team.h"
#include "harness/host/topology.h"
#include "harness/loop/trial.h"
#include "harness/result/result.h"

namespace latchlab {

/// Runs all phases. Never throws for what happens during the run: memory that runs out, a mismatch or an
/// interruption end in a TrialResult that says so. Throws InputError if its key file is wrong. The team has not begun, and has ended
/// afterwards.
[[nodiscard]] TrialResult run_trial(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team, Progress& progress);

}  // namespace latchlab
