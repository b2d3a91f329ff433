#pragma once
#include <atomic>

#include "src/arch/sanitizer.h"
#include "src/base/types.h"

namespace latchlab {

/// Returns true if the atomic holds `value`, by a relaxed load. g++ never folds an atomic load into the comparison that
/// uses it, and a lookup is as fast as its instructions are few. So this compares a word in memory.
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
