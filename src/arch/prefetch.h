// Software prefetch. A prefetch never faults, so any pointer may be given. It repairs nothing either: a cleared
// Accessed bit of a page stays cleared, and a transaction that then reads the page still aborts.
#pragma once

namespace latchlab {

// Both name their instruction. g++ takes the builtin for no effect, and drops the call of a function that does nothing
// else; and without -mprfchw it prefetches for reading where writing was asked for.

/// Fetches the line of p for reading, into every level.
[[gnu::always_inline]] inline void prefetch_read(const void* p) {
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(p)));
}

/// Fetches the line of p for writing: no other processor has a copy then. Processors that do not know the instruction
/// execute a nop.
[[gnu::always_inline]] inline void prefetch_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

}  // namespace latchlab
