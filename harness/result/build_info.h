#pragma once

// What this binary was built from. The definition is generated at build time (cmake/build_info.cmake), so that it tells
// the commit of the sources in the binary and not of whatever the tree holds when it runs.

#include "harness/result/result.h"

namespace latchlab {

/// Commit, compiler, flags and library versions of this binary; `unknown` where the build could not tell.
[[nodiscard]] BuildInfo build_info();

}  // namespace latchlab
