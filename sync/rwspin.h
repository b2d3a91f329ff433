#pragma once
// `rwspin`: one global reader-writer spin lock. Readers run side by side, but all of them write the lock's line.
//
//     31                  2        1        0
//    | readers inside, x4 | pending | writer |
//
// A reader adds itself first and looks afterwards. So the common case is a single read-modify-write, which needs the
// line once. If a writer is inside or waits, the reader subtracts itself again and waits.
//
// A writer enters when the word is 0 except for `pending`. Until then it sets `pending`, so that a stream of readers
// cannot keep it out for ever. Entering clears the bit for all waiting writers. Each of them waits until no thread is
// inside or `pending` is clear, and sets it again in the second case.
//
// While a writer is inside, arriving readers change the word, so leaving subtracts instead of storing. All changes are
// read-modify-writes: an acquire of one synchronizes with every release before it, whatever came between.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class RwSpinLock {
 public:
  void lock_shared() {
    while (word_.fetch_add(kReader, kAcquire) & (kWriter | kPending)) {  // pairs with unlock
      word_.fetch_add(-kReader, kRelaxed);                               // relaxed: this reader has read nothing yet
      M::wake(&word_);                                                   // a writer may wait for it
      M::wait_until(word_, [](u32 word) { return (word & (kWriter | kPending)) == 0; });
    }
  }
  void unlock_shared() {
    word_.fetch_add(-kReader, kRelease);  // pairs with lock: this thread's reads precede the writer's stores
    M::wake(&word_);
  }

  void lock() {
    const auto nobody_inside = [](u32 word) { return (word & ~kPending) == 0; };
    for (u32 word = word_.load(kRelaxed);;) {  // relaxed: the exchange checks the value
      if (nobody_inside(word)) {
        // Pairs with unlock and unlock_shared. It clears kPending, which ends the wait of another writer; the unlock
        // wakes that one, which could not come in before.
        if (word_.compare_exchange(word, kWriter, kAcquire)) return;
      } else if (!(word & kPending)) {
        // Relaxed: the bit asks readers to wait and publishes nothing.
        if (word_.compare_exchange(word, word | kPending, kRelaxed)) word |= kPending;
      } else {
        word = M::wait_until(word_, [&](u32 now) { return nobody_inside(now) || !(now & kPending); });
      }
    }
  }
  void unlock() {
    word_.fetch_add(-kWriter, kRelease);  // pairs with lock and lock_shared
    M::wake(&word_);
  }

 private:
  static constexpr u32 kWriter = 1, kPending = 2, kReader = 4;

  typename M::template Atomic<u32> word_{0};
};

template <class M>
class RwSpin : public OneSharedLock<M, RwSpinLock<M>> {
 public:
  static constexpr std::string_view kName = "rwspin";
  static constexpr std::string_view kAbout = "one global reader-writer spin lock";
  using RwSpin::OneLock::OneLock;
};

}  // namespace latchlab
