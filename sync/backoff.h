#pragma once
// What an optimistic operation does between a restart and the next try: waits a random, bounded time.
//
// Two operations that made each other restart would do so again if they came back together, so the time is
// random; its bound doubles with each restart, up to about as long as a long operation. After some restarts
// the processor is given away instead: with more threads than processors, the one that we collide with may
// not be running.
#include <algorithm>

#include "src/base/hash.h"
#include "src/machine/machine.h"

namespace latchlab {

/// After `restarts` earlier ones of the same operation: fewer than 512 pauses of 10 to 140 cycles each, or from
/// the 17th on a yield.
template <class M>
void back_off(u32 restarts) {
  constexpr u32 kFirstBound = 8, kLastBound = 512, kRestartsBeforeYield = 16;
  if (restarts >= kRestartsBeforeYield) return M::yield();
  // The clock is the only source that differs between threads and still replays on the simulated machine.
  const u64 random = mix64(M::now());
  for (u64 left = random % std::min(kFirstBound << restarts, kLastBound); left > 0; --left) M::pause();
}

}  // namespace latchlab
