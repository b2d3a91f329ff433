#pragma once

#include <string>
#include <string_view>

namespace latchlab {

/// Returns `text` as it can stand in a line of a message, whatever bytes somebody typed or a file holds: printable
/// UTF-8 stays, every other byte becomes \xNN. What is printable already comes back as it is.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace latchlab
