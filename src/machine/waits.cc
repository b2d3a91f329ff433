#include "src/machine/waits.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace latchlab {
namespace {

// A spinning wait asks for switches once in so many pauses, which together take ten times as long as the question.
constexpr u32 kSpinsBetweenLooks = 256;

// Of threads of the system: virtual machines have waits of their own.
constinit thread_local WaitCounts counts;
constinit ThreadLot lot;

}  // namespace

void yield_processor() { sched_yield(); }

Switches switches_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);  // it fails for a wrong address alone
  return {.voluntary = static_cast<u64>(usage.ru_nvcsw), .involuntary = static_cast<u64>(usage.ru_nivcsw)};
}

// Results of the next two are ignored: a thread that did not sleep, or that a signal woke, looks at its cell again, and
// that no thread sleeps is no failure.
void SystemThreads::sleep_while(const std::atomic<u32>& word, u32 seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void SystemThreads::wake_all(const std::atomic<u32>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

WaitCounts Waits::of_this_thread() { return counts; }

void Waits::wake_parked(const void* cell) { counts.wakes += lot.wake(cell); }

void Waits::yield() {
  if (way_ == WaitBy::kSpin) return pause_spin();
  const u64 before = watches_ ? switches_of_this_thread().involuntary : 0;
  ++counts.yields;
  yield_processor();
  if (watches_) counts.involuntary_inside += switches_of_this_thread().involuntary - before;
}

LongWait::LongWait(const void* cell) {
  if (Waits::way_ == WaitBy::kPark) stay_.emplace(lot, cell);
  if (Waits::watches_) before_ = last_ = switches_of_this_thread();
}

LongWait::~LongWait() {
  if (!Waits::watches_) return;
  if (Waits::way_ == WaitBy::kSpin) look_at_switches();
  counts.late_handovers += switched_;
  counts.involuntary_inside += last_.involuntary - before_.involuntary;
}

void LongWait::pass() {
  switch (Waits::way_) {
    case WaitBy::kSpin:
      pause_spin();
      if (++spins_ % kSpinsBetweenLooks != 0) return;
      break;
    case WaitBy::kYield:
      ++counts.yields;
      yield_processor();
      break;
    case WaitBy::kPark: counts.parks += stay_->pass(); break;
  }
  if (Waits::watches_) look_at_switches();
}

void LongWait::look_at_switches() {
  const Switches now = switches_of_this_thread();
  switched_ = now != last_;
  last_ = now;
}

}  // namespace latchlab
