#pragma once

// Base64 with padding (RFC 4648, section 4), by which memcached's meta commands carry binary keys.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace latchlab {

/// Appends the encoding of `bytes`: 4 characters for each 3 bytes or part of them.
void append_base64(std::string& out, std::string_view bytes);

/// Writes the bytes that `text` encodes to `out`, which has room for 3/4 of the text, and returns their number. Empty
/// if the text is no encoding: its size must be a multiple of 4, and bits that the padding leaves over must be 0.
[[nodiscard]] std::optional<std::size_t> decode_base64(std::string_view text, char* out);

/// Returns true if decode_base64 takes the text.
[[nodiscard]] bool is_base64(std::string_view text);

}  // namespace latchlab
