#pragma once
#include <atomic>

#include "src/arch/sanitizer.h"
#include "src/base/types.h"

namespace latchlab {

/// Whether the atomic holds `value`: a relaxed load. g++ never folds an atomic load into the comparison that it is for,
/// and a lookup's speed is the number of its instructions; so words are compared in memory.
template <class T>
[[gnu::always_inline]] inline bool holds(const std::atomic<T>& atomic, T value) {
  if constexpr (sizeof(T) == 8 && !kSanitized) {  // a sanitizer must see the access
    bool equal;
    asm volatile("cmpq %2, %1" : "=@cce"(equal) : "m"(atomic), "r"(value));
    return equal;
  } else {
    return atomic.load(kRelaxed) == value;  // relaxed: the caller's fences order it
  }
}

}  // namespace latchlab
