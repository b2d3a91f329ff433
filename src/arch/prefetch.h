// Software prefetch. A prefetch never faults, so any pointer may be given. It repairs nothing either: a cleared
// Accessed bit of a page stays cleared, and a transaction that then reads the page still aborts.
#pragma once

namespace latchlab {

/// Fetches the line of p for reading, into every level.
[[gnu::always_inline]] inline void prefetch_read(const void* p) { __builtin_prefetch(p, 0, 3); }

/// Fetches the line of p for writing: no other processor has a copy then. Without -mprfchw the builtin prefetches for
/// reading, so this names the instruction; processors that do not know it execute a nop.
[[gnu::always_inline]] inline void prefetch_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

}  // namespace latchlab
