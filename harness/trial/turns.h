#pragma once

// Threads that do one piece of work after the other, in the order of the pieces: where a lock lets in one at a time anyway,
// this hands it over once a piece and not once an operation, and every thread still does its share on its own processor.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "src/base/types.h"

namespace latchlab {

class Turns {
 public:
  /// Turn 0 is the next; nobody may be waiting.
  void start() { next_ = 0; }

  /// Waits until it is `turn`'s turn, which every turn must come to, in whichever thread. False as soon as `stop` is set.
  [[nodiscard]] bool await(u64 turn, const std::atomic<bool>& stop) {
    std::unique_lock lock(mutex_);
    while (next_ != turn) {
      // Relaxed: it publishes nothing. Looked at now and then, since who sets it wakes nobody.
      if (stop.load(kRelaxed)) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return true;
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  u64 next_ = 0;
};

}  // namespace latchlab
