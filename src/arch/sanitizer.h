// Calls that tell the sanitizers about memory and stacks; without a sanitizer they are empty.
//
// A sanitizer cannot know these things by itself:
//   - a pool's free block must not be touched (poison);
//   - execution has moved to another stack (a fiber of the simulated machine).
// A sanitizer build also runs no hardware transactions, because a bug inside one is a silent abort. The rest of the
// tree tests the constants below with `if constexpr` and never uses the preprocessor.
#pragma once

#include <cstddef>

// g++ defines macros for its sanitizers; clang answers __has_feature.
#if defined(__has_feature)
#define LATCHLAB_HAS_FEATURE(name) __has_feature(name)
#else
#define LATCHLAB_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || LATCHLAB_HAS_FEATURE(address_sanitizer)
#define LATCHLAB_ADDRESS_SANITIZER 1
#else
#define LATCHLAB_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__) || LATCHLAB_HAS_FEATURE(thread_sanitizer)
#define LATCHLAB_THREAD_SANITIZER 1
#else
#define LATCHLAB_THREAD_SANITIZER 0
#endif

#if LATCHLAB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if LATCHLAB_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace latchlab {

inline constexpr bool kAddressSanitizer = LATCHLAB_ADDRESS_SANITIZER;
inline constexpr bool kThreadSanitizer = LATCHLAB_THREAD_SANITIZER;
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

/// Inlines everything that the function calls, except in a sanitizer build. There each copy would be full of checks,
/// take longer to compile than all the rest, and find nothing more.
#if LATCHLAB_ADDRESS_SANITIZER || LATCHLAB_THREAD_SANITIZER
#define LATCHLAB_FLATTEN
#else
#define LATCHLAB_FLATTEN [[gnu::flatten]]
#endif

/// Makes AddressSanitizer report every access to these bytes until they are unpoisoned. The granularity is 8 bytes: the
/// bytes before the first multiple of 8 stay accessible.
inline void poison_memory([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if LATCHLAB_ADDRESS_SANITIZER
  __asan_poison_memory_region(p, bytes);
#endif
}
inline void unpoison_memory([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t bytes) {
#if LATCHLAB_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(p, bytes);
#endif
}

/// Tells AddressSanitizer that the thread is about to leave its stack, or has entered another. To switch:
///
///     sanitizer_leave_stack(&mine.fake, theirs.bottom, theirs.size);  // null for the first: this stack ends
///     ... jump ...
///     sanitizer_enter_stack(mine.fake, &left_bottom, &left_size);      // null for the first: a new fiber
inline void sanitizer_leave_stack([[maybe_unused]] void** save_fake_stack, [[maybe_unused]] const void* next_bottom,
                                  [[maybe_unused]] std::size_t next_size) {
#if LATCHLAB_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(save_fake_stack, next_bottom, next_size);
#endif
}
inline void sanitizer_enter_stack([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** left_bottom,
                                  [[maybe_unused]] std::size_t* left_size) {
#if LATCHLAB_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, left_bottom, left_size);
#endif
}

/// Creates ThreadSanitizer's context of a fiber; null without ThreadSanitizer. Switch contexts right before the jump.
inline void* sanitizer_create_fiber() {
#if LATCHLAB_THREAD_SANITIZER
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
inline void* sanitizer_current_fiber() {
#if LATCHLAB_THREAD_SANITIZER
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
inline void sanitizer_switch_to_fiber([[maybe_unused]] void* fiber) {
#if LATCHLAB_THREAD_SANITIZER
  __tsan_switch_to_fiber(fiber, 0);
#endif
}
inline void sanitizer_destroy_fiber([[maybe_unused]] void* fiber) {
#if LATCHLAB_THREAD_SANITIZER
  __tsan_destroy_fiber(fiber);
#endif
}

}  // namespace latchlab
