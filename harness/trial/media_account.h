// The account of the two memories of sized values (docs/two_memories.md).
#pragma once

#include <string>
#include <string_view>

#include "harness/config/plan.h"
#include "harness/host/topology.h"
#include "harness/result/result.h"
#include "harness/trial/measurement.h"
#include "harness/trial/remark.h"

namespace latchlab {

/// Returns the two memories, or why there is one. A note says so if they share a node, or if the kernel does not keep
/// far memory in place. `m` must have a measured phase.
[[nodiscard]] Account<OrReason<TwoMemories>> media_account(const Plan& plan, const Topology& topology,
                                                           const Measurement& m);

/// Returns which memory is out, as a clause that follows `failure`, a thread's message; empty unless that says that
/// memory ran out, and if values have one memory.
[[nodiscard]] std::string memory_out(std::string_view failure, const Plan& plan, const Measurement& m);

}  // namespace latchlab
