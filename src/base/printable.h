#pragma once

#include <string>
#include <string_view>

namespace latchlab {

/// Returns `text` in a form that fits into one line of a message. Printable UTF-8 stays; every other byte becomes
/// `\xNN`.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace latchlab
