// One run, phase after phase: load, verify, warm up, measure, check.
#pragma once

#include "harness/config/plan.h"
#include "harness/host/progress.h"
#include "harness/host/recorder.h"
#include "harness/host/thread_team.h"
#include "harness/host/topology.h"
#include "harness/loop/trial.h"
#include "harness/trial/measurement.h"

namespace latchlab {

/// Runs all phases. The Measurement reports an exception in a phase, a mismatch, an interruption, or a system without
/// threads for it. Throws InputError if the key file is wrong. Also throws any exception of the calling thread between
/// phases, such as std::bad_alloc; the team's destructor then ends its threads. The team must not have begun; it has
/// ended when this returns. A `recorder`, if there is one, records the measured phase; a search for a rate (--slo) has
/// none. `null` is a trial of plan_of_loop(plan), to measure the loop beside the run; without it that limit is missing.
[[nodiscard]] Measurement run_trial(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team,
                                    Progress& progress, Recorder* recorder = nullptr, Trial* null = nullptr);

/// Returns the plan of a trial whose index does nothing, under no synchronization, and which is otherwise this plan's.
[[nodiscard]] Plan plan_of_loop(const Plan& plan);

}  // namespace latchlab
