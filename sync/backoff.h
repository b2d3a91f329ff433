#pragma once
// What an optimistic operation does between a restart and the next try: waits a random, bounded time.
//
// Two operations that made each other restart would do so again if they came back together, so the time is
// random; its bound doubles with each restart, up to about as long as a long operation. After some restarts
// the processor is given away instead: with more threads than processors, the one that we collide with may
// not be running.
#include <algorithm>

#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class Backoff {
 public:
  static constexpr u32 kFirstBound = 8, kLastBound = 512;   // pauses, of 10 to 140 cycles each
  static constexpr u32 kRestartsBeforeYield = 16;

  /// After each restart: less than kLastBound pauses, or, from the one after kRestartsBeforeYield on, a yield.
  void wait() {
    if (restarts_++ >= kRestartsBeforeYield) return M::yield();
    for (u32 left = draw() % bound_; left > 0; --left) M::pause();
    bound_ = std::min(bound_ * 2, kLastBound);
  }

 private:
  // The clock is the only source that differs between threads and still replays on the simulated machine.
  u32 draw() {
    if (state_ == 0) state_ = M::now() | 1;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<u32>(state_ * 0x9e3779b97f4a7c15u >> 32);
  }

  u64 state_ = 0;
  u32 restarts_ = 0;
  u32 bound_ = kFirstBound;
};

}  // namespace latchlab
