#pragma once
// The backoff of an optimistic operation between a restart and its next attempt: it waits a random, bounded time.
//
// Two operations that made each other restart would do so again if they came back together, so the time is random. Its
// bound doubles with each restart, up to the time of a long operation. After some restarts the thread yields instead:
// with more threads than processors, the conflicting thread may be descheduled.
#include <algorithm>

#include "src/base/hash.h"
#include "src/machine/machine.h"

namespace latchlab {

/// Waits after a restart. `restarts` counts the earlier restarts of the operation. Executes fewer than 512 pauses of 10
/// to 140 cycles each or, from the 17th restart on, yields.
template <class M>
void back_off(u32 restarts) {
  constexpr u32 kFirstBound = 8, kLastBound = 512, kRestartsBeforeYield = 16;
  if (restarts >= kRestartsBeforeYield) return M::yield();
  // Only the clock differs between threads and still replays on the simulated machine.
  const u64 random = mix64(M::now());
  for (u64 left = random % std::min(kFirstBound << restarts, kLastBound); left > 0; --left) M::pause();
}

}  // namespace latchlab
