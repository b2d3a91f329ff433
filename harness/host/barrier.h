// A reusable barrier for the phases of a run. It is not std::barrier, because threads sleep there, and threads that the
// kernel has to wake begin a phase tens of microseconds apart. Here they look, and then yield.
//
//     Arriving parties increment arrived_. The last one resets it and increments phase_, which the others watch.
#pragma once

#include <atomic>

#include "src/base/types.h"
#include "src/machine/waits.h"

namespace latchlab {

class Barrier {
 public:
  explicit Barrier(u32 parties) : parties_(parties) {}

  /// Returns once all parties have arrived. Everything that a party did before is then visible to all of them.
  void arrive_and_wait() {
    const u64 phase = phase_.load(kRelaxed);  // relaxed: it cannot change before this party has arrived
    // (1) Acquire-release: each arrival pairs with the later ones, so the last party sees what all did before.
    if (arrived_.fetch_add(1, kAcqRel) + 1 == parties_) {
      arrived_.store(0, kRelaxed);        // relaxed: the release (2) orders it before the next phase
      phase_.store(phase + 1, kRelease);  // (2) pairs with the acquire (3)
      return;
    }
    // (3) Acquire: pairs with the release (2) of the last party.
    wait_by_yields(phase_, [phase](u64 now) { return now != phase; });
  }

 private:
  const u32 parties_;
  alignas(kFalseSharingBytes) std::atomic<u32> arrived_{0};
  alignas(kFalseSharingBytes) std::atomic<u64> phase_{0};
};

}  // namespace latchlab
