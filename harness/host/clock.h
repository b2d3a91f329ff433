#pragma once

// The clock that phases are timed by. It belongs to the machine: real time passes by itself, virtual time passes only
// as threads spend it.

#include "src/base/types.h"

namespace latchlab {

/// A count of nanoseconds since some moment. It never decreases for one thread. In virtual time two threads may read
/// slightly different times.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Returns the time. Never blocks, so the caller may hold a mutex.
  [[nodiscard]] virtual u64 now() = 0;
  [[nodiscard]] double seconds_since(u64 start) { return static_cast<double>(now() - start) / 1e9; }
};

/// Returns the real clock (CLOCK_MONOTONIC). Any thread may call it.
[[nodiscard]] Clock& wall_clock();

}  // namespace latchlab
