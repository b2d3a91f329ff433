#pragma once

// The end of a loop, which any thread may ask for.

#include <atomic>

#include "services/kv/socket.h"
#include "src/base/types.h"

namespace latchlab::kv {

/// Outlives its loop, so that asking never meets the loop's own end.
class Stop {
 public:
  /// Throws InputError if the kernel refuses an eventfd.
  Stop();
  /// Makes the loop's run end soon. Any thread may call it, once or more.
  void ask() const;
  [[nodiscard]] bool asked() const { return asked_.load(kRelaxed); }
  /// Returns an eventfd that becomes readable when the stop is asked for, for networks that wait in the kernel.
  [[nodiscard]] int file() const { return wake_.number(); }

 private:
  // Relaxed: nothing but the loop's end depends on it. The write to the file wakes the loop, which then looks.
  mutable std::atomic<bool> asked_{false};
  File wake_;
};

}  // namespace latchlab::kv
