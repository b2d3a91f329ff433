#pragma once

// The build of this binary. The definition is generated at build time (cmake/build_info.cmake). So it has the commit of
// the sources in the binary, and not that of the tree at run time.

#include <string_view>

#include "harness/result/result.h"

namespace latchlab {

/// Returns the commit, compiler, flags and library versions of this binary; `unknown` where the build could not tell.
[[nodiscard]] BuildInfo build_info();

/// Returns the project's version, as CMake has it: "0.2.0".
[[nodiscard]] std::string_view version();

}  // namespace latchlab
