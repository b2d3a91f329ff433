// A reusable barrier for the phases of a run. Waiting spins for a moment, since phases that start together
// should start within a microsecond, and then yields: with more threads than processors the others must run
// for the barrier to fall.
//
//     arrived_ counts up; the last one resets it and turns phase_, which everybody else watches.
#pragma once

#include <atomic>
#include <thread>

#include "src/base/types.h"

namespace latchlab {

class Barrier {
 public:
  explicit Barrier(u32 parties) : parties_(parties) {}

  /// Returns once all parties have arrived; everything a party did before is visible to all after.
  void arrive_and_wait() {
    const u64 phase = phase_.load(std::memory_order_relaxed);  // cannot turn before this party has arrived
    // acq_rel: each arrival pairs with the later ones, so the last one has seen what all did before.
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
      arrived_.store(0, std::memory_order_relaxed);  // ordered before the next phase by the release below
      phase_.store(phase + 1, std::memory_order_release);  // pairs with the acquire below
      return;
    }
    for (u32 spins = 0; phase_.load(std::memory_order_acquire) == phase;
         ++spins) {  // pairs with the release above
      if (spins >= kSpins) std::this_thread::yield();
    }
  }

 private:
  static constexpr u32 kSpins = 2000;  // about as long as waking a neighbour takes
  const u32 parties_;
  alignas(64) std::atomic<u32> arrived_{0};
  alignas(64) std::atomic<u64> phase_{0};
};

}  // namespace latchlab
