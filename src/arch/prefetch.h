// Software prefetch. A prefetch never faults, so any pointer may be given; it also repairs nothing: a page
// whose Accessed bit is cleared stays so, and a transaction that reads it afterwards still aborts.
#pragma once

#include <cstddef>

#include "src/base/types.h"

namespace latchlab {

/// Fetch the line of p for reading, into every level.
[[gnu::always_inline]] inline void prefetch_read(const void* p) { __builtin_prefetch(p, 0, 3); }

/// Fetch the line of p for writing: nobody else has it then. Without -mprfchw the builtin is a prefetch for reading; processors
/// that do not know the instruction take it for a nop.
[[gnu::always_inline]] inline void prefetch_write(const void* p) {
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
}

/// Fetch every line of the object for reading.
template <class T>
[[gnu::always_inline]] inline void prefetch_object(const T* p) {
  const char* const start = reinterpret_cast<const char*>(p);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) prefetch_read(start + at);
}
/// The same for writing.
template <class T>
[[gnu::always_inline]] inline void prefetch_object_write(const T* p) {
  const char* const start = reinterpret_cast<const char*>(p);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) prefetch_write(start + at);
}

}  // namespace latchlab
