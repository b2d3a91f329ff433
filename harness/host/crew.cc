#include "harness/host/crew.h"

namespace latchlab {

Crew::Crew(u32 threads) : start_(threads) {
  threads_.reserve(threads);
  try {
    for (u32 t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
  } catch (...) {
    // The system has no more threads: those that started must not outlive this object.
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    begin_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    throw;
  }
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::exception_ptr Crew::run(const std::function<void(u32)>& task,
                             const std::function<Clock::time_point()>& watch,
                             const std::function<void()>& on_failure) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  on_failure_ = &on_failure;
  failure_ = nullptr;
  busy_ = size();
  ++phase_;
  begin_.notify_all();
  while (busy_ > 0) {
    lock.unlock();
    const Clock::time_point next = watch();
    lock.lock();
    finished_.wait_until(lock, next, [&] { return busy_ == 0; });
  }
  return failure_;
}

void Crew::work(u32 thread) {
  for (u64 seen = 0;;) {
    {
      std::unique_lock lock(mutex_);
      begin_.wait(lock, [&] { return over_ || phase_ != seen; });
      if (over_) return;
      seen = phase_;
    }
    start_.arrive_and_wait();
    try {
      (*task_)(thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      (*on_failure_)();
    }
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace latchlab
