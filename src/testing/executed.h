#pragma once
#include <functional>
#include <optional>

#include "src/base/types.h"

namespace latchlab::testing {

/// The number of instructions that `run` executes, exactly, and a few for the call: a child process runs it, step by
/// step. None where one process may not trace another.
std::optional<u64> executed_instructions(const std::function<void()>& run);

}  // namespace latchlab::testing
