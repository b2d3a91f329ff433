#pragma once

// The patterns of redis' SCAN.

#include <string_view>

namespace latchlab::kv {

/// Returns true if the whole text matches the pattern: `*` any bytes, `?` one byte, [abc], [^abc] and [a-z] one of a
/// set, \x the byte x. O(pattern x text).
[[nodiscard]] bool matches(std::string_view pattern, std::string_view text);

}  // namespace latchlab::kv
