#pragma once
#include <functional>
#include <optional>

#include "src/base/types.h"

namespace latchlab::testing {

/// What a function executes.
struct Executed {
  u64 instructions;  // exactly, plus a few for the call
  u64 locked;        // those with a lock: a prefix, or an exchange with memory
};

/// Counts what `run` executes. A child process runs it in single steps. Returns nothing where a process may not trace
/// another.
std::optional<Executed> executed(const std::function<void()>& run);

/// Counts `operation(i)` for several i, and returns the median of each count. So an operation that happens to grow the
/// index does not count. Returns nothing where a process may not trace another.
std::optional<Executed> executed_by_most(const std::function<void(u64 i)>& operation);

}  // namespace latchlab::testing
