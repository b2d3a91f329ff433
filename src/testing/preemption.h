#pragma once
// A thread that is interrupted in the middle of what it does. Without this a test on few processors hardly ever sees
// two operations overlap: each takes less than a microsecond, and a thread keeps its processor for thousands of them.
//
// A timer sends the thread a signal at a random moment. The handler keeps the thread there for a random while, in which
// it gives its processor to others. Under ThreadSanitizer there are no interruptions: it keeps a signal until the
// thread next calls the C library, which is outside the operation, and then takes what that call does for the
// handler's.
#include <csignal>
#include <ctime>

#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab::testing {

/// Interruptions of the thread that made it, which also destroys it. One for each thread at a time.
class Preemption {
 public:
  /// `seed` says when, as far as the machine lets it. Throws std::system_error.
  explicit Preemption(u64 seed);
  Preemption(const Preemption&) = delete;
  Preemption& operator=(const Preemption&) = delete;
  ~Preemption();

  /// Asks for the next interruption, unless it is still to come. The handler does not: where signals take longer than
  /// the time between two of them, the thread would never get on.
  void arm();

  /// Interruptions so far.
  [[nodiscard]] u64 count() const { return count_; }

 private:
  static void handle(int signal, siginfo_t* info, void* context);
  void stay();

  Rng rng_;
  timer_t timer_{};
  volatile bool armed_ = false;  // the handler writes this and the next, on the same thread
  volatile u64 count_ = 0;
};

}  // namespace latchlab::testing
