#pragma once

// Checks and defaults of runs on modelled machines, which --machine asks for.

#include <string>
#include <vector>

#include "harness/cli/check.h"
#include "harness/config/plan.h"
#include "harness/config/registry.h"

namespace latchlab {

/// Throws InputError if this build cannot do what --machine asks for (null: it is not given): a build that measures
/// models nothing, and one that models measures nothing. `elsewhere`: --topology is given; `profiles`: --profile is.
void check_build_for(const std::vector<std::string>* machine, bool elsewhere, bool profiles, bool models);

/// Makes the machine of a plan from its Config, where there is one, and fills in the defaults of a modelled run besides
/// its length. Returns true if its scale is the standard one by default, which is right for the standard records alone.
/// Throws InputError for a machine that is unknown or wrong.
bool take_machine(Plan& plan, const Defaults& defaults);
/// Takes the standard scale back.
void take_whole_machine(Plan& plan);

/// Returns why an option or the policy does not go with the modelled machine of the plan, in one line; empty if all do,
/// or if the run is measured.
[[nodiscard]] std::string why_not_modelled(const Plan& plan, const Pair& pair);

}  // namespace latchlab
