#pragma once
// Whether tests take their time.
#include <cstdlib>

namespace latchlab::testing {

/// Returns true in ./test --all, whose preset sets the variable. Tests that explore then run everything, and otherwise
/// a part that finds most.
inline bool thorough() { return std::getenv("LATCHLAB_THOROUGH") != nullptr; }

}  // namespace latchlab::testing
