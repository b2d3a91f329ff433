#include "harness/interrupt.h"

#include <atomic>
#include <csignal>

#include "src/base/types.h"

namespace latchlab {

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void on_signal(int) { stop.store(true, kRelaxed); }

}  // namespace

// Relaxed suffices here and in on_signal: the flag publishes nothing but itself.
bool stop_requested() { return stop.load(kRelaxed); }
void request_stop() { stop.store(true, kRelaxed); }

void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // RESETHAND gives the second signal its default effect; RESTART spares every read and write the EINTR.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace latchlab
