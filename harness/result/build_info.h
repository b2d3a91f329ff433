#pragma once

// The build of this binary. The definition is generated at build time (cmake/build_info.cmake). So it has the commit of
// the sources in the binary, and not that of the tree at run time.

#include "harness/result/result.h"

namespace latchlab {

/// Returns the commit, compiler, flags and library versions of this binary; `unknown` where the build could not tell.
[[nodiscard]] BuildInfo build_info();

}  // namespace latchlab
