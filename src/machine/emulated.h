#pragma once
// Emulated: real threads, and transactions made of a hidden mutex and an undo log in the cells.
//
// It is the machine of the sanitizer lanes and of processors without RTM. Its transactions have the semantics
// of the hardware's, at the price of running one at a time:
//
//   atomic      all run under one mutex that no policy sees; an abort undoes the cells in reverse
//   isolated    while an Elision lives, atomic and racy cells outside transactions take the mutex too: no
//               lock is acquired, and no optimistic reader looks, in the middle of a transaction
//   abortable   PAUSE, yielding, waiting and exceptions abort with status zero; a plan aborts anywhere with
//               any status
//
// ThreadSanitizer sees plain cells as plain variables. The hidden mutex orders transactions with each other
// and with every operation on a lock, but not with what happens under that lock: a policy that forgets to
// subscribe, or a fallback that forgets to lock, is reported as the data race that it is. Without an Elision
// no operation takes the mutex, so it cannot hide the races of an optimistic policy.
//
// Races need threads that meet in windows of nanoseconds, which on few processors they hardly ever do: so a
// thread now and then gives its processor away right after an operation that took the mutex, and right before
// a transaction.
#include <string_view>
#include <type_traits>

#include "src/arch/sanitizer.h"
#include "src/arch/simd.h"
#include "src/machine/machine.h"
#include "src/machine/software_transaction.h"

namespace latchlab {

/// The transaction of one thread. Cells find it through `running`, which is null outside transactions.
class EmulatedThread {
 public:
  static inline constinit thread_local EmulatedThread* running = nullptr;
  static EmulatedThread& mine();

  void begin();
  void commit();
  u32 caught();
  u32 caught_foreign();
  [[noreturn]] void abort(u32 status);
  [[noreturn]] void abort_explicitly(u8 code);

  /// An access to a cell is about to happen. Aborts when that was planned.
  void access() {
    if (!transaction_.unwinding() && transaction_.planned(AbortMoment::kAccess))
      abort(transaction_.planned_status());
  }
  /// The same for a store. False: the store must not take place, the body is being left.
  [[nodiscard]] bool store(void* at, u64 old, SoftwareTransaction::Restore restore) {
    if (transaction_.unwinding()) return false;
    transaction_.remember(at, old, restore);
    return true;
  }
  bool unwinding() const { return transaction_.unwinding(); }
  SoftwareTransaction& transaction() { return transaction_; }
  AbortInjection* exchange_plan(AbortInjection* plan) { return std::exchange(plan_, plan); }

 private:
  void end();

  SoftwareTransaction transaction_;
  AbortInjection* plan_ = nullptr;
};

struct Emulated {
  static constexpr std::string_view kName = "emulated";

 private:
  /// Held around an operation outside transactions: the hidden mutex while there is somebody who elides.
  class Isolation {
   public:
    // Relaxed: an Elision is published to other threads together with the policy that holds it.
    Isolation() : locked_(elisions_.load(kRelaxed) != 0) {
      if (locked_) lock_hidden();
    }
    ~Isolation() {
      if (!locked_) return;
      unlock_hidden();
      stumble();
    }
    Isolation(const Isolation&) = delete;
    Isolation& operator=(const Isolation&) = delete;

   private:
    const bool locked_;
  };

  template <class T>
  static u64 bits(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(u64),
                  "a cell holds at most 8 bytes");
    u64 word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    return word;
  }
  template <class T>
  static T value_of(u64 word) {
    T value;
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
  }
  template <class T>
  static void restore_plain(void* at, u64 old) {
    *static_cast<T*>(at) = value_of<T>(old);
  }
  template <class T>
  static void restore_atomic(void* at, u64 old) {
    static_cast<std::atomic<T>*>(at)->store(value_of<T>(old), kRelaxed);
  }

  static void before_load() {
    if (EmulatedThread* me = EmulatedThread::running) me->access();
  }
  template <class T>
  [[nodiscard]] static bool before_store(T& cell) {
    EmulatedThread* me = EmulatedThread::running;
    if (!me) return true;
    me->access();
    return me->store(&cell, bits(cell), restore_plain<T>);
  }

  /// Changes an atomic cell: `change(cell)` does it and returns the result; `skip(cell)` is the result in a
  /// body that is being left, where nothing may change.
  template <class T, class Change, class Skip>
  static auto changed(std::atomic<T>& cell, Change&& change, Skip&& skip) {
    if (EmulatedThread* me = EmulatedThread::running) {
      me->access();
      // Relaxed: nobody else writes it now, the mutex is ours and orders all writers.
      if (!me->store(&cell, bits(cell.load(kRelaxed)), restore_atomic<T>)) return skip(cell);
      return change(cell);
    }
    const Isolation isolation;
    return change(cell);
  }
  template <class T>
  static T loaded(const std::atomic<T>& cell, std::memory_order order) {
    if (EmulatedThread* me = EmulatedThread::running) {
      me->access();
      return cell.load(order);
    }
    const Isolation isolation;
    return cell.load(order);
  }
  template <class T>
  static void stored(std::atomic<T>& cell, T value, std::memory_order order) {
    changed(cell, [&](std::atomic<T>& c) { c.store(value, order); }, [](std::atomic<T>&) {});
  }

 public:
  template <class T>
  class Plain {
    static_assert(std::is_trivially_copyable_v<T>);

   public:
    constexpr Plain() : value_{} {}
    constexpr explicit Plain(T value) : value_(value) {}
    Plain(const Plain&) = delete;
    Plain& operator=(const Plain&) = delete;
    T load() const {
      before_load();
      return value_;
    }
    void store(T value) {
      if (before_store(value_)) value_ = value;
    }

   private:
    T value_;
  };

  template <class T>
  class Racy {
   public:
    constexpr Racy() : value_{} {}
    constexpr explicit Racy(T value) : value_(value) {}
    Racy(const Racy&) = delete;
    Racy& operator=(const Racy&) = delete;
    T load() const { return loaded(value_, kAcquire); }           // pairs with store, as on Native
    void store(T value) { stored(value_, value, kRelease); }

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
    T load(std::memory_order order) const { return loaded(value_, order); }
    void store(T value, std::memory_order order) { stored(value_, value, order); }
    T exchange(T value, std::memory_order order) {
      return changed(value_, [&](std::atomic<T>& v) { return v.exchange(value, order); }, current);
    }
    T fetch_add(T value, std::memory_order order) {
      return changed(value_, [&](std::atomic<T>& v) { return v.fetch_add(value, order); }, current);
    }
    bool compare_exchange(T& expected, T value, std::memory_order order) {
      return changed(
          value_,
          [&](std::atomic<T>& v) { return v.compare_exchange_strong(expected, value, order, kRelaxed); },
          [](std::atomic<T>&) { return false; });
    }

   private:
    static T current(std::atomic<T>& v) { return v.load(kRelaxed); }
    std::atomic<T> value_;
  };

  template <class T, std::size_t N>
  class PlainRow {
   public:
    PlainRow() = default;
    PlainRow(const PlainRow&) = delete;
    PlainRow& operator=(const PlainRow&) = delete;
    T load(std::size_t i) const {
      before_load();
      return values_[i];
    }
    void store(std::size_t i, T value) {
      if (before_store(values_[i])) values_[i] = value;
    }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      before_load();
      return Bytes16::load(values_);
    }

   private:
    alignas(sizeof(T) * N >= 8 ? 8 : alignof(T)) T values_[N]{};
  };

  /// In words, as on Native: what tears there tears here.
  template <class T, std::size_t N>
  class RacyRow {
    static constexpr std::size_t kPerWord = 8 / sizeof(T);
    static_assert(std::is_unsigned_v<T> && N % kPerWord == 0);

   public:
    RacyRow() = default;
    RacyRow(const RacyRow&) = delete;
    RacyRow& operator=(const RacyRow&) = delete;
    T load(std::size_t i) const { return static_cast<T>(loaded(words_[i / kPerWord], kRelaxed) >> shift(i)); }
    void store(std::size_t i, T value) {
      const u64 mask = u64{static_cast<T>(~T{})} << shift(i);
      changed(
          words_[i / kPerWord],
          [&](std::atomic<u64>& word) {
            word.store((word.load(kRelaxed) & ~mask) | u64{value} << shift(i), kRelaxed);
          },
          [](std::atomic<u64>&) {});
    }
    Bytes16 load_all() const
      requires(sizeof(T) * N == 16)
    {
      const u64 low = loaded(words_[0], kRelaxed);
      return Bytes16::of_words(low, loaded(words_[1], kRelaxed));
    }

   private:
    static constexpr u32 shift(std::size_t i) { return static_cast<u32>(i % kPerWord * 8 * sizeof(T)); }
    std::atomic<u64> words_[N / kPerWord]{};
  };

  /// While one lives, operations outside transactions are strongly isolated from them. It belongs to a
  /// policy: made before any thread uses it, gone after all have stopped.
  class Elision {
   public:
    Elision() { elisions_.fetch_add(1, kRelaxed); }
    ~Elision() { elisions_.fetch_sub(1, kRelaxed); }
    Elision(const Elision&) = delete;
    Elision& operator=(const Elision&) = delete;
  };

  /// kCommitted, or the abort status; then every cell is as if the body had not run. The body's result must
  /// not be used after an abort. Takes the hidden mutex for the whole body.
  template <class Body>
  static u32 transact(Body&& body) {
    return run_transaction(EmulatedThread::mine(), body);
  }
  static bool in_transaction() { return EmulatedThread::running && !EmulatedThread::running->unwinding(); }
  static bool transactions_work() { return true; }
  /// Only inside a transaction; elsewhere it ends the process.
  template <u8 kCode>
  [[noreturn]] static void abort() {
    EmulatedThread::mine().abort_explicitly(kCode);
  }

  /// A plan for the calling thread's transactions, for as long as the result lives.
  class [[nodiscard]] Injected {
   public:
    explicit Injected(AbortInjection plan)
        : plan_(std::move(plan)), outer_(EmulatedThread::mine().exchange_plan(&plan_)) {}
    ~Injected() { EmulatedThread::mine().exchange_plan(outer_); }
    Injected(const Injected&) = delete;
    Injected& operator=(const Injected&) = delete;

   private:
    AbortInjection plan_;
    AbortInjection* outer_;
  };
  static Injected inject(AbortInjection plan) { return Injected(std::move(plan)); }

  /// Looks about thirty times, then gives the processor away between looks. Inside a transaction one look:
  /// the wait would execute PAUSE there, which aborts with status zero.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    for (u32 looks = 0;; ++looks) {
      if (const auto value = atomic.load(kAcquire); done(value) || left_body()) return value;
      if (looks < kSpinLooks) {
        pause();
      } else {
        yield();
      }
    }
  }
  static void pause();
  static void yield();
  static u64 now();
  static void acquire_fence() { std::atomic_thread_fence(kAcquire); }
  static void release_fence() { std::atomic_thread_fence(kRelease); }
  static void light_fence() { std::atomic_thread_fence(kSeqCst); }
  static void heavy_fence() { std::atomic_thread_fence(kSeqCst); }

  static void touch(const void*, std::size_t, Access) {}
  static void* allocate(std::size_t bytes);
  /// Inside a transaction the block is freed when that commits.
  static void deallocate(void* p, std::size_t bytes);
  static void poison(const void* p, std::size_t bytes) { poison_memory(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { unpoison_memory(p, bytes); }

 private:
  friend class EmulatedThread;
  static constexpr u32 kSpinLooks = 32;
  static inline constinit std::atomic<u32> elisions_{0};

  static bool left_body() { return EmulatedThread::running && EmulatedThread::running->unwinding(); }
  static void lock_hidden();
  static void unlock_hidden();
  static void stumble();
};

static_assert(Machine<Emulated>);

}  // namespace latchlab
