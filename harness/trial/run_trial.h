// One run, phase after phase: load, verify, warm up, measure, check.
#pragma once

#include "harness/config/plan.h"
#include "harness/host/progress.h"
#include "harness/host/thread_team.h"
#include "harness/host/topology.h"
#include "harness/loop/trial.h"
#include "harness/trial/measurement.h"

namespace latchlab {

/// Runs all phases. What is thrown in a phase ends in a Measurement that says so, as do a mismatch, an interruption and
/// a system without threads for it. Throws InputError if its key file is wrong, and what the calling thread meets
/// between phases, as std::bad_alloc: the team's destructor then ends its threads. The team has not begun, and has
/// ended when this returns.
[[nodiscard]] Measurement run_trial(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team,
                                    Progress& progress);

}  // namespace latchlab
