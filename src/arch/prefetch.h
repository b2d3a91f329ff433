// Software prefetch. A prefetch never faults, so any pointer may be given; it also repairs nothing: a page
// whose Accessed bit is cleared stays so, and a transaction that reads it afterwards still aborts.
#pragma once

namespace latchlab {

/// Fetch the line of p for reading, into every level.
[[gnu::always_inline]] inline void prefetch_read(const void* p) { __builtin_prefetch(p, 0, 3); }

/// Fetch the line of p for writing: nobody else has it then. Without -mprfchw the builtin is a prefetch for reading;
/// processors that do not know the instruction take it for a nop.
[[gnu::always_inline]] inline void prefetch_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

}  // namespace latchlab
