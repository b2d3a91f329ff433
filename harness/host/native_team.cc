#include "harness/host/native_team.h"

#include <chrono>
#include <system_error>

#include "harness/host/environment.h"
#include "harness/host/placement.h"
#include "src/machine/native.h"

namespace latchlab {
namespace {

class WallClock final : public Clock {
 public:
  u64 now() override { return Native::now(); }
};

}  // namespace

Clock& wall_clock() {
  static WallClock clock;
  return clock;
}

void NativeTeam::begin(u32 threads) {
  start_ = std::make_unique<Barrier>(threads);
  threads_.reserve(threads);
  try {
    for (u32 t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
  } catch (...) {
    end();  // the threads that started must not outlive this object
    throw;
  }
}

void NativeTeam::end() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  over_ = false;
  phase_ = 0;
}

std::exception_ptr NativeTeam::run(const std::function<void(u32)>& task, const std::function<u64()>& watch,
                                   const std::function<void()>& on_failure) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  on_failure_ = &on_failure;
  failure_ = nullptr;
  busy_ = static_cast<u32>(threads_.size());
  ++phase_;
  begin_.notify_all();
  const auto done = [&] { return busy_ == 0; };
  while (!done()) {
    lock.unlock();
    std::optional<u64> next;
    try {
      next = watch();
    } catch (...) {
      fail();
    }
    lock.lock();
    if (next) {
      // wall_clock() counts the same nanoseconds as the steady clock.
      finished_.wait_until(lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(*next)), done);
    } else {
      finished_.wait(lock, done);
    }
  }
  return failure_;
}

/// Keeps the current exception if it is the first, and calls on_failure. The thread that caught it calls this.
void NativeTeam::fail() {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::current_exception();
  (*on_failure_)();
}

void NativeTeam::work(u32 thread) {
  for (u64 seen = 0;;) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return over_ || phase_ != seen; });
      if (over_) return;
      seen = phase_;
    }
    start_->arrive_and_wait();
    try {
      (*task_)(thread);
    } catch (...) {
      fail();
    }
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

void NativeTeam::wait_while(const std::atomic<u64>& word, u64 value) {
  wait_by_yields(word, [value](u64 now) { return now != value; });
}

void NativeTeam::sleep_until(const std::function<bool()>& done) {
  std::unique_lock lock(sleepers_);
  while (!done()) changed_.wait_for(lock, std::chrono::milliseconds(10));
}

void NativeTeam::wake() {
  { const std::lock_guard lock(sleepers_); }
  changed_.notify_all();
}

void NativeTeam::idle(u64, bool yields) { yields ? yield_processor() : Native::pause(); }

bool NativeTeam::pin(u32 cpu) { return pin_this_thread(cpu); }

bool NativeTeam::place(const PagePlacement& pages) { return place_thread(pages); }

OrReason<std::unique_ptr<Preemption>> NativeTeam::preemption(u64 seed) {
  using Made = OrReason<std::unique_ptr<Preemption>>;
  if (const std::string why = Preemption::why_none(); !why.empty()) return Made::missing(why);
  try {
    return std::make_unique<Preemption>(seed);
  } catch (const std::system_error& error) {
    return Made::missing(error.what());
  }
}

std::optional<u32> NativeTeam::cpu() { return this_cpu(); }

void NativeTeam::wait_by(WaitBy way, bool watches_switches) { Waits::set(way, watches_switches); }

// The result is ignored: a call before the run has found out if the kernel refuses.
void NativeTeam::extend_slices() { (void)SliceExtension::allow(); }

std::optional<ThreadWaits> NativeTeam::waits() {
  return ThreadWaits{.counts = Waits::of_this_thread(),
                     .involuntary = switches_of_this_thread().involuntary,
                     .slices = SliceExtension::granted()};
}

std::optional<u64> NativeTeam::ran_ns() { return thread_time_ns(); }

std::optional<ProcessorTime> NativeTeam::processor_time() { return latchlab::processor_time(); }

Limits NativeTeam::limits(const LimitsPlan& plan) { return measure_limits(plan); }

}  // namespace latchlab
