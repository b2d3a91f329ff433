// Software prefetch. A prefetch never faults, so any pointer may be given; it also repairs nothing: a page
// whose Accessed bit is cleared stays so, and a transaction that reads it afterwards still aborts.
#pragma once

#include <cstddef>

#include "src/base/types.h"

namespace latchlab {

/// Fetch the line of p for reading, into every level.
[[gnu::always_inline]] inline void prefetch_read(const void* p) { __builtin_prefetch(p, 0, 3); }

/// Fetch every line of the object for reading.
template <class T>
[[gnu::always_inline]] inline void prefetch_object(const T* p) {
  const char* const start = reinterpret_cast<const char*>(p);
  for (std::size_t at = 0; at < sizeof(T); at += kLineBytes) prefetch_read(start + at);
}

}  // namespace latchlab
