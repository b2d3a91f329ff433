// What CPUID says of the caches, and the kernel does not.
#pragma once

#include <optional>

namespace latchlab {

/// Returns true if the L3 cache has every line of the caches below it, false if it need not; nothing if CPUID describes
/// no L3.
[[nodiscard]] std::optional<bool> l3_is_inclusive();

}  // namespace latchlab
