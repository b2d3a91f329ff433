// The speed of a memory in which values lie, near or far, measured by one thread in the run that uses it. A modelled
// medium is measured by the same copies, with the waits of its model. So what the model does is seen beside its preset.
#pragma once

#include "harness/config/or_reason.h"
#include "harness/host/limits.h"
#include "src/base/types.h"
#include "src/memory/media/far_memory.h"

namespace latchlab {

/// The speed of a memory, for one thread.
struct MediumTimes {
  OrReason<double> latency_ns;  ///< of a dependent line; of a model: of a transfer, without its bytes
  OrReason<double> read_gbps;   ///< GB/s of copies of 64 KiB from it
  OrReason<double> write_gbps;  ///< GB/s of copies of 64 KiB to it
};

/// Measures a memory on its first seat. It takes 64 MiB from the memory's source for that, or as much as the limit
/// lets. Values are missing with a reason if that is less than 1 MiB, or the run was interrupted. Takes about
/// 3 x plan.time_ns.
[[nodiscard]] MediumTimes measure_medium(const LimitsPlan& plan, const FarMemory& memory);

}  // namespace latchlab
