#pragma once

// The clock on the wall, by which phases are timed.

#include <chrono>

namespace latchlab {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace latchlab
