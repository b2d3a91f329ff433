#pragma once

// The manual page harness(1), written from the tables of commands and options (options.h) and from the entries of
// `harness list`. The repository keeps it in docs/man, and cmake --install puts it where man looks.

#include <string>

#include "harness/config/registry.h"

namespace latchlab {

/// Returns the page in the macros of man(7).
[[nodiscard]] std::string man_page(const Registry& registry);

}  // namespace latchlab
