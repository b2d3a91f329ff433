#pragma once
// Tests of code that must end the process: it runs in a child process.
#include <functional>
#include <string>

namespace latchlab::testing {

/// Returns what `run` writes to stderr before it aborts; "" if it returns or ends the process in another way.
[[nodiscard]] std::string last_words(const std::function<void()>& run);

}  // namespace latchlab::testing
