// The threads of a trial. They live through all of its phases, so that who loads is who measures: the same
// pool, the same processor, the same epoch. Between phases they sleep on a condition variable; a phase begins
// behind a barrier, so that all begin within a microsecond; the caller meanwhile keeps the time.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/host/barrier.h"
#include "harness/host/clock.h"
#include "src/base/types.h"

namespace latchlab {

class Crew {
 public:
  explicit Crew(u32 threads);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  [[nodiscard]] u32 size() const { return static_cast<u32>(threads_.size()); }

  /// Runs task(t) on every thread t and returns when all are done. Meanwhile the caller runs watch(), at once
  /// and then whenever the time comes that it returned last. What a task throws is caught; the first of them
  /// is returned, and on_failure() is called at once by the thread that failed, so that it can stop the
  /// others.
  [[nodiscard]] std::exception_ptr run(const std::function<void(u32)>& task,
                                       const std::function<Clock::time_point()>& watch,
                                       const std::function<void()>& on_failure);

 private:
  void work(u32 thread);

  Barrier start_;
  std::mutex mutex_;
  std::condition_variable begin_;     // a phase has begun, or all is over
  std::condition_variable finished_;  // the last thread of a phase is done
  u64 phase_ = 0;
  u32 busy_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
  const std::function<void(u32)>* task_ = nullptr;
  const std::function<void()>* on_failure_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace latchlab
