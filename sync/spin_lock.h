#pragma once
// The one global lock of `spin` and of every policy that elides it: test, and test-and-set.
//
// Waiting only reads, so waiters share the line until the holder writes it. The word is alone on its two
// lines: a transaction that has subscribed to it must not be aborted by a neighbour.
#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class SpinLock {
 public:
  /// Waits until nobody holds the lock; somebody may again by the time that it returns.
  void await_free() const {
    M::wait_until(held_, [](u32 held) { return held == 0; });
  }

  /// Also the subscription of a transaction: any later change of the word aborts it. Relaxed: in a transaction its
  /// atomicity orders, and in try_lock the exchange.
  [[nodiscard]] bool busy() const { return held_.load(kRelaxed) != 0; }

  /// Looks before it exchanges: a vain exchange would take the line away and abort every subscriber.
  [[nodiscard]] bool try_lock() { return !busy() && held_.exchange(1, kAcquire) == 0; }  // pairs with unlock

  /// Unfair: no queue, whoever exchanges first has it.
  void lock() {
    while (!try_lock()) await_free();
  }
  /// The same with the prefixes of hardware lock elision, and as HLE is used: exchange first, spin after. Where the
  /// processor elides, the critical section is a transaction until the exchange is run again.
  void lock_by_prefix() {
    while (held_.exchange_by_prefix(1) != 0) await_free();  // pairs with unlock_by_prefix
  }
  void unlock_by_prefix() { held_.store_by_prefix(0); }  // pairs with lock_by_prefix
  /// One exchange, without a look before it: what a processor does after an abort. True if the lock was free and is
  /// ours now.
  [[nodiscard]] bool exchange() { return held_.exchange(1, kAcquire) == 0; }  // pairs with unlock

  void unlock() { held_.store(0, kRelease); }  // pairs with try_lock

 private:
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> held_{0};
};

}  // namespace latchlab
