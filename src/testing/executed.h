#pragma once
#include <functional>
#include <optional>

#include "src/base/types.h"

namespace latchlab::testing {

/// Returns the exact number of instructions that `run` executes, plus a few for the call. A child process runs it in
/// single steps. Returns nothing where a process may not trace another.
std::optional<u64> executed_instructions(const std::function<void()>& run);

}  // namespace latchlab::testing
