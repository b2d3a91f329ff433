// A trial whose values have any size (--value-size): a store of values over the trial of a pair, which keeps words.
#pragma once

#include <memory>

#include "harness/config/plan.h"
#include "harness/loop/trial.h"
#include "src/memory/memory_config.h"

namespace latchlab {

/// Returns a trial with values of the plan's size over `words`, whose index modifies. `memory` is that of the values;
/// given that of `words`, both share its limit.
/// With --far, near memory has a limit of its own. Throws as Medium does.
[[nodiscard]] std::unique_ptr<Trial> sized_trial(std::unique_ptr<Trial> words, const Plan& plan,
                                                 const MemoryConfig& memory);

}  // namespace latchlab
