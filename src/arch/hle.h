#pragma once
// The prefixes of hardware lock elision. XACQUIRE before an exchange begins a transaction that pretends to have stored
// the word. XRELEASE before the store of the old word ends it. After an abort the exchange runs again and really
// stores. A processor that does not elide ignores both prefixes and takes the lock. So using them needs no probe; only
// reporting whether they elide does. They are in assembly, because clang has no atomic operations with them. The thread
// sanitizer does not see into assembly, so its builds use plain atomic operations.
//
// Source: Intel SDM volume 1, chapter 16 ("Programming with Intel TSX").
#include <atomic>

#include "src/arch/sanitizer.h"
#include "src/base/types.h"

namespace latchlab {

/// Acquires as an exchange does; pairs with hle_store.
[[gnu::always_inline]] inline u32 hle_exchange(std::atomic<u32>& word, u32 value) {
  if constexpr (kThreadSanitizer) return word.exchange(value, kAcquire);
  asm volatile("xacquire xchgl %0, %1" : "+r"(value), "+m"(word) : : "memory");
  return value;
}

/// Releases as a store does; pairs with hle_exchange.
[[gnu::always_inline]] inline void hle_store(std::atomic<u32>& word, u32 value) {
  if constexpr (kThreadSanitizer) return word.store(value, kRelease);
  asm volatile("xrelease movl %1, %0" : "=m"(word) : "r"(value) : "memory");
}

}  // namespace latchlab
