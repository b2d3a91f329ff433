#pragma once
// Native: the processor itself. Every cell compiles to the plain instruction. Only allocation, waiting, the clock and a
// heavy fence are function calls.
#include <sched.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <type_traits>

#include "src/arch/features.h"
#include "src/arch/heavy_fence.h"
#include "src/arch/hle.h"
#include "src/arch/pause.h"
#include "src/arch/prefetch.h"
#include "src/arch/rtm.h"
#include "src/arch/sanitizer.h"
#include "src/arch/slice_extension.h"
#include "src/machine/cells.h"
#include "src/machine/machine.h"
#include "src/machine/server_thread.h"
#include "src/machine/waits.h"

namespace latchlab {

struct Native : Cells<Native> {
  static constexpr std::string_view kName = "native";
  static constexpr bool kReadsWholeLines = !kSanitized;
  static constexpr bool kUndoesAllMemory = true;

  using Mutex = std::mutex;
  using SharedMutex = std::shared_mutex;
  using ServerThread = SystemServerThread;

  struct Elision {};
  using Section = SliceSection;

  template <class Body>
  [[gnu::always_inline]] static inline u32 transact(Body&& body) {
    if (const u32 status = rtm_begin(); status != kCommitted) return status;
    body();
    rtm_end();
    return kCommitted;
  }
  [[gnu::always_inline]] static inline u32 begin() { return rtm_begin(); }
  [[gnu::always_inline]] static inline void end() { rtm_end(); }
  template <class Body>
  [[gnu::always_inline]] static inline u32 contain(Body&& body) {
    body();
    return kCommitted;
  }
  static u32 prefixed_exchange(std::atomic<u32>& word, u32 value) { return hle_exchange(word, value); }
  static void prefixed_store(std::atomic<u32>& word, u32 value) { hle_store(word, value); }
  static constexpr bool kPrefixesAreTransactions = false;
  static bool prefixes_elide() { return !why_no_hle(); }
  /// Returns true inside an elision. Call it only if prefixes_elide().
  static bool in_elision() { return rtm_test(); }
  static bool suspends_loads() { return !why_no_suspended_loads(); }
  [[gnu::always_inline]] static inline void suspend_loads() { rtm_suspend_loads(); }
  [[gnu::always_inline]] static inline void resume_loads() { rtm_resume_loads(); }
  static bool in_transaction() { return rtm_works() && rtm_test(); }
  static bool transactions_work() { return rtm_works(); }
  template <u8 kCode>
  [[noreturn]] static void abort() {
    rtm_abort<kCode>();
  }

  /// Looks for about a microsecond, then waits as the process has chosen (waits.h): with more threads than processors,
  /// the thread that ends the wait may be descheduled.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    // Acquire: pairs with the releasing store of the value that ends the wait.
    for (u32 looks = 0; looks < kLooksBeforeLongWait; ++looks) {
      if (const auto value = atomic.load(kAcquire); done(value)) return value;
      pause();
    }
    LongWait wait(&atomic);
    for (;; wait.pass()) {
      if (const auto value = atomic.load(kAcquire); done(value)) return value;  // pairs likewise
    }
  }
  [[gnu::always_inline]] static inline void wake(const void* cell) { Waits::wake(cell); }
  static void pause() { pause_spin(); }
  static void yield() { Waits::yield(); }
  static u64 now() {
    return static_cast<u64>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }
  /// Asks the kernel's vDSO. Without an answer it is node 0.
  static u32 node() {
    unsigned node = 0;
    return getcpu(nullptr, &node) == 0 ? node : 0;
  }
  static void full_fence() { std::atomic_thread_fence(kSeqCst); }      // pairs with itself
  static void acquire_fence() { std::atomic_thread_fence(kAcquire); }  // pairs with release_fence
  static void release_fence() { std::atomic_thread_fence(kRelease); }  // pairs with acquire_fence
  /// Pairs with heavy_fence, which runs a full fence on every processor that runs a thread of this process. So this one
  /// need only be a compiler fence.
  static void light_fence() { std::atomic_signal_fence(kSeqCst); }
  /// Pairs with light_fence and with itself. Takes one system call, or many if membarrier is forbidden
  /// (src/arch/heavy_fence.h).
  static void heavy_fence() { fence_all_processors(); }

  static void touch(const void*, std::size_t, Access) {}
  [[gnu::always_inline]] static inline void begin_operation() {}
  /// Prefetches a line.
  [[gnu::always_inline]] static inline void prefetch(const void* p, Access access) {
    if (access == Access::kRead) {
      prefetch_read(p);
    } else {
      prefetch_write(p);
    }
  }
  static void* allocate(std::size_t bytes, std::size_t alignment = kLineBytes) {
    return bytes >= kLineBytes && alignment > alignof(std::max_align_t)
               ? std::aligned_alloc(kLineBytes, (bytes + kLineBytes - 1) & ~(kLineBytes - 1))
               : std::malloc(bytes);
  }
  static void deallocate(void* p, std::size_t) { std::free(p); }
  static PageSource* pages() { return &system_pages(); }
  static void poison(const void* p, std::size_t bytes) { poison_memory(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { unpoison_memory(p, bytes); }
  [[gnu::always_inline]] static inline void name(const void*, std::size_t, std::string_view) {}

 private:
  friend Cells<Native>;
  struct Nothing {
    constexpr explicit operator bool() const { return true; }
  };
  template <class V>
  static constexpr Nothing loading(const V&) {
    return {};
  }
  template <class V>
  static constexpr Nothing storing(V&) {
    return {};
  }
  template <class V>
  static constexpr Nothing changing(V&) {
    return {};
  }
};

}  // namespace latchlab
