// The runner over any session: the hot loop, compiled once for each kind of keys, with a virtual call an operation.
#pragma once

#include <memory>

#include "harness/loop/trial.h"
#include "src/base/batching.h"
#include "src/base/types.h"

namespace latchlab {

class Clock;

/// Makes a runner that calls the session, whose keys are numbers or byte strings. The thread that has made the session
/// makes the runner.
[[nodiscard]] std::unique_ptr<Runner> runner_over(std::unique_ptr<Counted> session, bool numbers, const Batching& batch,
                                                  u32 value_bits, Clock& clock);

}  // namespace latchlab
