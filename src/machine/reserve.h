#pragma once
// Address space for the tables of a virtual machine: zero, and without memory until the first write.
#include <sys/mman.h>

#include <new>

#include "src/base/types.h"

namespace latchlab {

/// Reserves `count` objects, at `hint` if that is free. Throws std::bad_alloc.
template <class T>
[[nodiscard]] T* reserve(u64 count, void* hint = nullptr) {
  void* p = mmap(hint, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(p);
}

/// Returns the memory of reserved objects to the system; they are zero again.
template <class T>
void clear_reserved(T* first, u64 count) {
  madvise(first, count * sizeof(T), MADV_DONTNEED);
}

template <class T>
void release_reserved(T* first, u64 count) {
  munmap(first, count * sizeof(T));
}

}  // namespace latchlab
