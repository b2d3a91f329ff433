#include "src/machine/preemption.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "src/arch/sanitizer.h"
#include "src/machine/native.h"

namespace latchlab {

namespace {

// The nanoseconds until an interruption, and those inside it. If arming took longer than the wait, the signal would
// come before the operation rather than inside it; hence kLeastBetween.
constexpr u64 kLeastBetween = 5'000, kMostBetween = 25'000, kMostInside = 20'000;

void require(bool right, const char* what) {
  if (!right) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

std::string Preemption::why_none() {
  return kThreadSanitizer ? "ThreadSanitizer delays signals until a thread calls the C library" : "";
}

Preemption::Preemption(u64 seed) : rng_(seed) {
  static const int signal = [] {
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    require(sigaction(SIGRTMIN, &action, nullptr) == 0, "sigaction");
    return SIGRTMIN;
  }();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = this;
  event._sigev_un._tid = gettid();
  require(timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0, "timer_create");
}

// A pending signal is handled before the call returns, because it is directed at this thread.
Preemption::~Preemption() { timer_delete(timer_); }

void Preemption::arm() {
  if (kThreadSanitizer || armed_) return;
  armed_ = true;
  itimerspec when{};
  when.it_value.tv_nsec = static_cast<long>(kLeastBetween + rng_.below(kMostBetween - kLeastBetween));
  timer_settime(timer_, 0, &when, nullptr);
}

void Preemption::handle(int, siginfo_t* info, void*) {
  const int error = errno;
  static_cast<Preemption*>(info->si_value.sival_ptr)->stay();
  errno = error;
}

void Preemption::stay() {
  const u64 until = Native::now() + rng_.below(kMostInside);
  do {
    Native::yield();
  } while (Native::now() < until);
  count_ = count_ + 1;
  armed_ = false;
}

}  // namespace latchlab
