#pragma once
// The global lock of `spin` and of every policy that elides it: test, then test-and-set.
//
// Waiting only reads, so waiters share the line until the holder writes it. The word is alone on its two lines, so that
// a store to a neighbouring word cannot abort a transaction that has subscribed to it.
#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class SpinLock {
 public:
  /// Waits until the lock is free; another thread may have taken it by the time this returns.
  void await_free() const {
    M::wait_until(held_, [](u32 held) { return held == 0; });
  }

  /// Returns true if the lock is held. Inside a transaction this is the subscription: any later change of the word
  /// aborts it. Relaxed: a transaction is ordered by its atomicity, try_lock by its exchange.
  [[nodiscard]] bool busy() const { return held_.load(kRelaxed) != 0; }

  /// Takes the lock if it is free. Looks before it exchanges: a failing exchange would take the line and abort every
  /// subscriber.
  [[nodiscard]] bool try_lock() { return !busy() && held_.exchange(1, kAcquire) == 0; }  // pairs with unlock

  /// Takes the lock. Unfair: there is no queue, and the first thread to exchange gets it.
  void lock() {
    while (!try_lock()) await_free();
  }
  /// Takes the lock with the prefix of hardware lock elision, in HLE's usual way: exchange first, then spin. If the
  /// processor elides, the critical section is a transaction; after an abort the exchange runs again.
  void lock_by_prefix() {
    while (held_.exchange_by_prefix(1) != 0) await_free();  // pairs with unlock_by_prefix
  }
  void unlock_by_prefix() {
    held_.store_by_prefix(0);  // pairs with lock_by_prefix
    M::wake(&held_);
  }
  /// Exchanges once without looking first, as a processor does after an abort of HLE. Returns true if the lock was free
  /// and this thread now holds it.
  [[nodiscard]] bool exchange() { return held_.exchange(1, kAcquire) == 0; }  // pairs with unlock

  void unlock() {
    held_.store(0, kRelease);  // pairs with try_lock
    M::wake(&held_);
  }

 private:
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> held_{0};
};

}  // namespace latchlab
