#pragma once
// Interruptions of a thread in the middle of an operation. Without them a test on few processors hardly ever sees two
// operations overlap. Each takes less than a microsecond, and a thread keeps its processor for thousands of them.
//
// A timer sends the thread a signal at a random moment. The handler keeps the thread for a random time, in which it
// yields its processor. Under ThreadSanitizer there are no interruptions. It delays a signal until the thread calls the
// C library, outside the operation, and attributes the accesses of that call to the handler.
#include <csignal>
#include <ctime>
#include <string>

#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab {

/// The interruptions of the thread that makes this object, which must also destroy it. One for each thread at a time.
class Preemption {
 public:
  /// Returns why this build interrupts no thread, in one line; empty if it does.
  [[nodiscard]] static std::string why_none();

  /// Draws the moments from `seed`; the machine adds its own jitter. Throws std::system_error.
  explicit Preemption(u64 seed);
  Preemption(const Preemption&) = delete;
  Preemption& operator=(const Preemption&) = delete;
  ~Preemption();

  /// Asks for the next interruption, unless one is pending. The handler does not ask: if signals took longer than the
  /// time between two of them, the thread would never progress.
  void arm();

  /// Returns the number of interruptions so far.
  [[nodiscard]] u64 count() const { return count_; }

 private:
  static void handle(int signal, siginfo_t* info, void* context);
  void stay();

  Rng rng_;
  timer_t timer_{};
  volatile bool armed_ = false;  // the handler writes this and count_, on the same thread
  volatile u64 count_ = 0;
};

}  // namespace latchlab
