#pragma once
// Code that must end the process, tried in a process of its own.
#include <functional>
#include <string>

namespace latchlab::testing {

/// What `run` writes to stderr before it aborts; nothing if it returns or dies in another way.
[[nodiscard]] std::string last_words(const std::function<void()>& run);

}  // namespace latchlab::testing
