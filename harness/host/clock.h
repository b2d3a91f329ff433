#pragma once

// Time, by which phases are cut. It belongs to the machine: the processor's passes by itself, that of a virtual one
// passes as its threads spend it.

#include "src/base/types.h"

namespace latchlab {

/// Nanoseconds since some moment. For one thread they never go back; those of two threads in virtual time may be a
/// little apart.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Waits for nothing: a mutex may be held.
  [[nodiscard]] virtual u64 now() = 0;
  [[nodiscard]] double seconds_since(u64 start) { return static_cast<double>(now() - start) / 1e9; }
};

/// The clock on the wall (CLOCK_MONOTONIC). Any thread.
[[nodiscard]] Clock& wall_clock();

}  // namespace latchlab
