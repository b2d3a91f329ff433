#include "harness/interrupt.h"

#include <atomic>
#include <csignal>
#include <ctime>

#include "src/base/types.h"

namespace latchlab {

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

// Nanoseconds of a clock that a signal handler may read.
u64 now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

std::atomic<u64> first_signal_ns{0};

void on_signal(int number) {
  constexpr u64 kSameWishNs = 1'000'000'000;   // timeout(1) signals the process and then its group
  const u64 now = now_ns();
  u64 first = 0;
  // Relaxed: only the handler touches it.
  if (first_signal_ns.compare_exchange_strong(first, now, kRelaxed)) return stop.store(true, kRelaxed);
  if (now - first < kSameWishNs) return;
  std::signal(number, SIG_DFL);
  std::raise(number);   // delivered when this handler returns
}

}  // namespace

// Relaxed suffices here and in on_signal: the flag publishes nothing but itself.
bool stop_requested() { return stop.load(kRelaxed); }
void request_stop() { stop.store(true, kRelaxed); }

void stop_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;   // spares every read and write the EINTR
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace latchlab
