// A reusable barrier for the phases of a run. Not std::barrier: those who wait at one fall asleep, and threads
// that the kernel has to wake begin a phase tens of microseconds apart. Here they wait as everybody waits.
//
//     arrived_ counts up; the last one resets it and turns phase_, which everybody else watches.
#pragma once

#include <atomic>

#include "src/base/types.h"
#include "src/machine/native.h"

namespace latchlab {

class Barrier {
 public:
  explicit Barrier(u32 parties) : parties_(parties) {}

  /// Returns once all parties have arrived; everything a party did before is visible to all after.
  void arrive_and_wait() {
    const u64 phase = phase_.load(kRelaxed);  // relaxed: it cannot turn before this party has arrived
    // Each arrival pairs with the later ones, so the last one has seen what all did before.
    if (arrived_.fetch_add(1, kAcqRel) + 1 == parties_) {
      arrived_.store(0, kRelaxed);        // relaxed: ordered before the next phase by the release below
      phase_.store(phase + 1, kRelease);  // pairs with the wait
      return;
    }
    // Acquires: pairs with the last one's release.
    Native::wait_until(phase_, [phase](u64 now) { return now != phase; });
  }

 private:
  const u32 parties_;
  alignas(kFalseSharingBytes) std::atomic<u32> arrived_{0};
  alignas(kFalseSharingBytes) std::atomic<u64> phase_{0};
};

}  // namespace latchlab
