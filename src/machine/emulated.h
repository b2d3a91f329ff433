#pragma once
// Emulated: real threads, and transactions made of a hidden mutex and an undo log in the cells.
//
// It is the machine of the sanitizer lanes and of processors without RTM. Its transactions have the semantics of
// hardware transactions, but run one at a time:
//
//   1 atomic      All transactions run under one mutex that no policy sees. An abort undoes the cells in reverse.
//   2 isolated    While an Elision lives, atomic and racy cells outside transactions take the mutex too. So no lock is
//                 acquired, and no optimistic reader loads, in the middle of a transaction.
//   3 abortable   PAUSE, yielding, waiting and exceptions abort with status zero. A plan aborts anywhere, with any
//                 status.
//   4 suspended   While its loads are suspended, a transaction releases the mutex, and each of its loads takes it as a
//                 load outside does. Other transactions may commit in between. An abort undoes its stores of that time
//                 too, but they are not isolated, so they may go only to memory that no other thread knows.
//
// ThreadSanitizer sees plain cells as plain variables. The hidden mutex orders transactions with each other and with
// every operation on a lock, but not with the code under that lock. So a policy that forgets to subscribe, or a
// fallback that forgets to lock, is reported as the data race that it is. Without an Elision no operation takes the
// mutex, so it cannot hide the races of an optimistic policy.
//
// A race needs threads that meet within nanoseconds, which hardly ever happens on few processors. So a thread sometimes
// yields right after an operation that took the mutex, and right before a transaction (stumble).
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <type_traits>

#include "src/arch/sanitizer.h"
#include "src/machine/cells.h"
#include "src/machine/machine.h"
#include "src/machine/server_thread.h"
#include "src/machine/software_transaction.h"

namespace latchlab {

/// The transaction of one thread of the system. (Fibers run on Simulated, whose world keeps their transactions.) Cells
/// find it through `running`, which is null outside transactions.
class EmulatedThread {
 public:
  static inline constinit thread_local EmulatedThread* running = nullptr;
  static EmulatedThread& mine();

  void begin();
  void commit();
  u32 caught();
  u32 caught_foreign();
  void suspend_loads();
  void resume_loads();
  [[noreturn]] void abort(u32 status);
  [[noreturn]] void abort_explicitly(u8 code);

  /// Announces an access to a cell. Aborts if the plan says so.
  void access() {
    if (!transaction_.unwinding() && transaction_.planned(AbortMoment::kAccess)) abort(transaction_.planned_status());
  }
  /// Announces a store and logs the old value. Returns false if the body is being left and must not store.
  [[nodiscard]] bool store(void* at, u64 old, SoftwareTransaction::Restore restore) {
    if (transaction_.unwinding()) return false;
    transaction_.remember(at, old, restore);
    return true;
  }
  bool in_transaction() const { return transaction_.running(); }
  bool unwinding() const { return transaction_.unwinding(); }
  bool suspended() const { return transaction_.suspended(); }
  SoftwareTransaction& transaction() { return transaction_; }
  AbortInjection* exchange_plan(AbortInjection* plan) { return std::exchange(plan_, plan); }

 private:
  void end();
  void take_mutex_back();

  SoftwareTransaction transaction_;
  AbortInjection* plan_ = nullptr;
};

struct Emulated : Cells<Emulated>, SoftwareTransactions<&EmulatedThread::mine> {
  static constexpr std::string_view kName = "emulated";
  static constexpr bool kReadsWholeLines = false;
  static constexpr bool kUndoesAllMemory = false;

  using Mutex = std::mutex;
  using SharedMutex = std::shared_mutex;
  using ServerThread = SystemServerThread;

 private:
  friend Cells<Emulated>;

  /// The isolation of one access to a shared value. Outside transactions, and for a suspended load, it holds the hidden
  /// mutex if an Elision lives. Inside a transaction the thread holds the mutex already. It is false if the access is a
  /// store that must not take place.
  class Isolation {
   public:
    // Relaxed: an Elision is published to other threads together with the policy that holds it.
    Isolation() : locked_(elisions_.load(kRelaxed) != 0), allowed_(true) {
      if (locked_) lock_hidden();
    }
    explicit Isolation(bool allowed) : locked_(false), allowed_(allowed) {}
    ~Isolation() {
      if (!locked_) return;
      unlock_hidden();
      stumble();
    }
    Isolation(const Isolation&) = delete;
    Isolation& operator=(const Isolation&) = delete;
    explicit operator bool() const { return allowed_; }

   private:
    const bool locked_, allowed_;
  };

  template <class T>
  static u64 bits(T value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(u64), "a cell holds at most 8 bytes");
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
    // Relaxed, as in storing: this thread holds the mutex until the abort is over.
    static_cast<std::atomic<T>*>(at)->store(value_of<T>(old), kRelaxed);
  }

  template <class V>
  static bool loading(const V&) {
    if (EmulatedThread* me = EmulatedThread::running) me->access();
    return true;
  }
  template <class T>
  static bool storing(T& plain) {
    EmulatedThread* me = EmulatedThread::running;
    if (!me) return true;
    me->access();
    return me->store(&plain, bits(plain), restore_plain<T>);
  }
  template <class T>
  static Isolation loading(const std::atomic<T>&) {
    EmulatedThread* me = EmulatedThread::running;
    if (!me) return Isolation();
    me->access();
    if (me->suspended()) return Isolation();
    return Isolation(true);
  }
  template <class T>
  static Isolation storing(std::atomic<T>& shared) {
    EmulatedThread* me = EmulatedThread::running;
    if (!me) return Isolation();
    me->access();
    // Relaxed: no other thread writes the cell now. This thread holds the mutex, which orders all writers; while loads
    // are suspended, no other thread knows the cell.
    return Isolation(me->store(&shared, bits(shared.load(kRelaxed)), restore_atomic<T>));
  }
  template <class T>
  static Isolation changing(std::atomic<T>& shared) {
    return storing(shared);
  }

 public:
  /// A policy's announcement of transactions: while one lives, operations outside transactions are strongly isolated
  /// from them. The policy makes it before any thread runs, and destroys it after all have stopped.
  class Elision {
   public:
    // Relaxed: publishing the policy to other threads, and joining them, orders the count too.
    Elision() { elisions_.fetch_add(1, kRelaxed); }
    ~Elision() { elisions_.fetch_sub(1, kRelaxed); }
    Elision(const Elision&) = delete;
    Elision& operator=(const Elision&) = delete;
  };

  static bool in_transaction() { return EmulatedThread::running && !EmulatedThread::running->unwinding(); }
  /// Looks about thirty times, then yields between looks. Inside a transaction it looks once: the PAUSE that follows
  /// aborts with status zero.
  template <class A, class Done>
  static auto wait_until(const A& atomic, Done&& done) {
    for (u32 looks = 0;; ++looks) {
      // Acquire: pairs with the releasing store of the value that ends the wait.
      if (const auto value = atomic.load(kAcquire); done(value) || left_body()) return value;
      if (looks < kSpinLooks) {
        pause();
      } else {
        yield();
      }
    }
  }
  static void wake(const void*) {}
  static void pause();
  static void yield();
  static u64 now();
  /// Makes believe that there are two nodes, with every other thread on each. It asks no processor, since a sanitizer
  /// lane shall take both on any machine.
  static u32 node();
  static void full_fence() { std::atomic_thread_fence(kSeqCst); }      // pairs with itself
  static void acquire_fence() { std::atomic_thread_fence(kAcquire); }  // pairs with release_fence
  static void release_fence() { std::atomic_thread_fence(kRelease); }  // pairs with acquire_fence
  static void light_fence() { std::atomic_thread_fence(kSeqCst); }     // pairs with heavy_fence
  static void heavy_fence() { std::atomic_thread_fence(kSeqCst); }     // pairs with light_fence and with itself

  static void touch(const void*, std::size_t, Access) {}
  static void begin_operation() {}
  static void prefetch(const void*, Access) {}
  static void* allocate(std::size_t bytes, std::size_t alignment = kLineBytes);
  /// Frees a block; inside a transaction, when the transaction commits.
  static void deallocate(void* p, std::size_t bytes);
  static PageSource* pages() { return &system_pages(); }
  static void poison(const void* p, std::size_t bytes) { poison_memory(p, bytes); }
  static void unpoison(const void* p, std::size_t bytes) { unpoison_memory(p, bytes); }
  static void name(const void*, std::size_t, std::string_view) {}

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
