#include "harness/host/interrupt.h"

#include <atomic>
#include <csignal>

#include "src/base/new_file.h"
#include "src/base/types.h"

namespace latchlab {

namespace {

// The number of signals so far. All accesses are relaxed, since it publishes nothing but itself.
std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

// The second signal has no effect, since timeout(1) signals the process and then its group. The third has its default
// effect.
void on_signal(int number) {
  if (signals.fetch_add(1, kRelaxed) < 2) return;
  NewFile::remove_unfinished();
  std::signal(number, SIG_DFL);
  std::raise(number);  // delivered when this handler returns
}

}  // namespace

bool stop_requested() { return signals.load(kRelaxed) != 0; }
void request_stop() { signals.store(1, kRelaxed); }

void stop_on_interrupt() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // so that no read or write fails with EINTR
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace latchlab
