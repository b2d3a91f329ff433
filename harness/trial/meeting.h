#pragma once

// Where the threads of a phase wait for each other now and then, and one of them says for all how it goes on. They fall asleep
// meanwhile, since they may be more than there are processors; a round (rounds.h) begins for all at once anyway.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "src/base/types.h"

namespace latchlab {

class Meeting {
 public:
  /// Of so many threads; nobody may be waiting.
  void start(u32 threads) {
    threads_ = threads;
    here_ = 0;
  }

  /// Waits until all have come, the last of whom calls `what`, and returns what that returned. False as soon as `stop` is set,
  /// before which somebody may have left without coming.
  template <class What>
  [[nodiscard]] bool meet(const std::atomic<bool>& stop, const What& what) {
    std::unique_lock lock(mutex_);
    if (stop.load(kRelaxed)) return false;   // relaxed, here and below: it publishes nothing
    if (++here_ == threads_) {
      here_ = 0;
      answer_ = what();
      ++held_;
      changed_.notify_all();
      return answer_;
    }
    for (const u64 before = held_; held_ == before;) {
      if (stop.load(kRelaxed)) return false;
      // Looked at now and then, since who sets it wakes nobody.
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return answer_;
  }

 private:
  std::mutex mutex_;   // guards the rest
  std::condition_variable changed_;
  u32 threads_ = 0;
  u32 here_ = 0;
  u64 held_ = 0;
  bool answer_ = false;
};

}  // namespace latchlab
