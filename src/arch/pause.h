// The instruction that tells the processor that a loop waits for another thread.
#pragma once

namespace latchlab {

/// Lets the other hardware thread of the core work for some dozens of cycles, and saves power.
[[gnu::always_inline]] inline void pause_spin() { __builtin_ia32_pause(); }

}  // namespace latchlab
