#pragma once

#include <string_view>

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

/// Returns the error "`what` file 'PATH': `why`"; every message about a file has this form.
[[nodiscard]] inline InputError file_error(std::string_view what, std::string_view path, std::string_view why) {
  return InputError(fmt::format("{} file '{}': {}", what, path, why));
}

}  // namespace latchlab
