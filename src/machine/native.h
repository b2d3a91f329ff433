#pragma once
// Native: the processor itself. Every cell compiles to the plain instruction; nothing here is a call except allocation.
#include <sched.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "src/arch/membarrier.h"
#include "src/arch/rtm.h"
#include "src/arch/sanitizer.h"
#include "src/arch/simd.h"
#include "src/machine/machine.h"

namespace latchlab {

struct Native {
  static constexpr std::string_view kName = "native";

  template <class T>
  class Plain {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    constexpr Plain() : value_{} {}
    constexpr explicit Plain(T value) : value_(value) {}
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;
    T load() const { return value_; }
    void store(T value) { value_ = value; }

   private:
    T value_;
  };

  template <class T>
  class Racy {
    static_assert(std::atomic<T>::is_always_lock_free && sizeof(std::atomic<T>) == sizeof(T));

   public:
    constexpr Racy() : value_{} {}
    constexpr explicit Racy(T value) : value_(value) {}
    Racy(const Racy&) = delete;
    Racy& operator=(const Racy&) = delete;
    // Acquire and release cost nothing on x86-64, and they are why a pointer may be followed before it is validated: what
    // it points to was initialised before the store, which pairs with the load here.
    T load() const { return value_.load(kAcquire); }
    void store(T value) { value_.store(value, kRelease); }

   private:
    std::atomic<T> value_;
  };

  template <class T>
  class Atomic {
   public:
    constexpr Atomic() : value_{} {}
    constexpr explicit Atomic(T value) : value_(value) {}
    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    T load(std::memory_order order) const { return value_.load(order); }
    void store(T value, std::memory_order order) { value_.store(value, order); }
    T exchange(T value, std::memory_order order) { return value_.exchange(value, order); }
    T fetch_add(T value, std::memory_order order) { return value_.fetch_add(value, order); }
    bool compare_exchange(T& expected, T value, std::memory_order order) {
      return value_.compare_exchange_strong(expected, value, order, kRelaxed);
    }

   private:
    std::atomic<T> value_;
  };

  template <class T, std::size_t N>
  class PlainRow {
   public:
    PlainRow() = default;
    PlainRow(const PlainRow&) = delete;
    PlainRow& operator=(const PlainRow&) = delete;
    T load(std::size_t i) const { return values_[i]; }
    void store(std::size_t i, T value) { values_[i] = value; }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      return Bytes16::load(values_);
    }

   private:
    alignas(sizeof(T) * N >= 8 ? 8 : alignof(T)) T values_[N]{};
  };

  /// Words of eight bytes are the unit of access: elements are read out of them and written back into them, which is safe
  /// because only the thread that holds the latch writes.
  template <class T, std::size_t N>
  class RacyRow {
    static constexpr std::size_t kPerWord = 8 / sizeof(T);
    static_assert(std::is_unsigned_v<T> && N % kPerWord == 0);

   public:
    RacyRow() = default;
    RacyRow(const RacyRow&) = delete;
    RacyRow& operator=(const RacyRow&) = delete;
    T load(std::size_t i) const { return static_cast<T>(words_[i / kPerWord].load(kRelaxed) >> shift(i)); }
    void store(std::size_t i, T value) {
      std::atomic<u64>& word = words_[i / kPerWord];
      const u64 mask = u64{static_cast<T>(~T{})} << shift(i);
      word.store((word.load(kRelaxed) & ~mask) | u64{value} << shift(i), kRelaxed);
    }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      return Bytes16::of_words(words_[0].load(kRelaxed), words_[1].load(kRelaxed));
    }

   private:
    static constexpr u32 shift(std::size_t i) { return static_cast<u32>(i % kPerWord * 8 * sizeof(T)); }
    std::atomic<u64> words_[N / kPerWord]{};
  };

  struct Elision {};

  template <class Body>
  [[gnu::always_inline]] static inline u32 transact(Body&& body) {
    if (const u32 status = rtm_begin(); status != kCommitted) return status;
    body();
    rtm_end();
    return kCommitted;
  }
  static bool in_transaction() { return rtm_works() && rtm_test(); }
  static bool transactions_work() { return rtm_works(); }
  template <u8 kCode>
  [[noreturn]] static void abort() {
    rtm_abort<kCode>();
  }

  /// Spins for about a microsecond, then gives the processor away between looks: with more threads than processors the
  /// one waited for may not be running.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    for (u32 looks = 0;; ++looks) {
      if (const auto value = atomic.load(kAcquire); done(value)) return value;   // pairs with the release of the writer
      if (looks < kSpinLooks) {
        pause();
      } else {
        yield();
      }
    }
  }
  static void pause() { __builtin_ia32_pause(); }
  static void yield() { sched_yield(); }
  static u64 now() {
    return static_cast<u64>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  static void acquire_fence() { std::atomic_thread_fence(kAcquire); }
  static void release_fence() { std::atomic_thread_fence(kRelease); }
  /// Where the system has membarrier, a heavy fence runs a full fence on every processor that runs a thread of ours, so a
  /// light one need only hold the compiler.
  static void light_fence() {
    if (kMembarrier) [[likely]] {
      std::atomic_signal_fence(kSeqCst);
    } else {
      full_fence();
    }
  }
  static void heavy_fence() {
    std::atomic_thread_fence(kSeqCst);
    if (kMembarrier) membarrier();
  }

  static void touch(const void*, std::size_t, Access) {}
  static void* allocate(std::size_t bytes) {
    return bytes >= kLineBytes ? std::aligned_alloc(kLineBytes, (bytes + kLineBytes - 1) & ~(kLineBytes - 1))
                               : std::malloc(bytes);
  }
  static void deallocate(void* p, std::size_t) { std::free(p); }
  static void poison(const void* p, std::size_t bytes) { poison_memory(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { unpoison_memory(p, bytes); }

 private:
  // Apart, so that no locked instruction is among those of a reader (indexes/codegen_test.cc).
  [[gnu::noinline, gnu::cold]] static void full_fence() { std::atomic_thread_fence(kSeqCst); }

  static constexpr u32 kSpinLooks = 32;
  static inline const bool kMembarrier = register_membarrier();
};

}  // namespace latchlab
