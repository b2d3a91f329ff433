// Fences around the readings of a clock that say when a call began and ended. Other threads compare these times, so the
// effect of the call must lie between the readings, as all processors see it:
//
//     reading | (1) start_after | loads and stores of the call | (2) settle | reading
//
//   1. Without (1) the call could load before the processor takes the first time.
//   2. Without (2) a store of the call could still wait in the processor's store buffer at the second time. Another
//      thread could then begin a call later, and yet find the old value.
//
// No other fence is a partner of these: the clock is what orders the threads.
#pragma once

namespace latchlab {

/// Lets no instruction behind it begin before those ahead of it are complete, a reading of the clock among them.
[[gnu::always_inline]] inline void start_after_reading() { asm volatile("lfence" ::: "memory"); }

/// Waits until all loads ahead of it have their values, and all processors see the stores ahead of it.
[[gnu::always_inline]] inline void settle_before_reading() { asm volatile("mfence\n\tlfence" ::: "memory"); }

}  // namespace latchlab
