#pragma once
// `mcs`: one global queue lock of Mellor-Crummey and Scott (TOCS 1991). It serves in order of arrival as `ticket` does,
// but each waits on a word of its own, so that a handover moves one line to one waiter, however many there are.
//
//     tail ----------------------------.
//                                      v
//     [next]-->[next]-->[next]-->[next]: none
//     inside   waits    waits    waits
//
// Who comes exchanges the tail for its own place; who was there before is whom it waits for, and learns by its `next`
// whom to wake. Between the exchange and that store the queue has a gap: a holder that finds no `next` takes the tail
// back if it is still its own place, and otherwise waits until the one who came has linked itself.
//
// A place is on the stack of its operation: the guard is it. It outlives everybody's use of it. The one before writes
// only `turn`, as its last, and the place stays until it has seen that. The one behind writes only `next`, once, and
// leave does not return before it has seen that store or, by the tail, that there is nobody behind.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class McsLock {
 public:
  /// Holds the lock while it lives, and is the place in the queue.
  class alignas(kFalseSharingBytes) Guard {
   public:
    explicit Guard(McsLock& lock) : lock_(lock) { lock_.enter(*this); }
    ~Guard() { lock_.leave(*this); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    friend McsLock;
    typename M::template Atomic<Guard*> next_{nullptr};
    typename M::template Atomic<u32> turn_{0};
    McsLock& lock_;
  };

 private:
  void enter(Guard& mine) {
    // Acquire: pairs with leave where it finds nobody, and otherwise with the exchange of the one before, whose place
    // it is about to write. Release: pairs with the exchange of the one behind, which writes ours.
    Guard* const before = tail_.exchange(&mine, kAcqRel);
    if (before == nullptr) return;
    before->next_.store(&mine, kRelease);                           // pairs with leave, which writes our turn
    M::wait_until(mine.turn_, [](u32 turn) { return turn != 0; });  // its acquire pairs with leave
  }

  void leave(Guard& mine) {
    Guard* behind = mine.next_.load(kAcquire);  // pairs with enter
    if (behind == nullptr) {
      Guard* last = &mine;
      if (tail_.compare_exchange(last, nullptr, kRelease)) return;  // pairs with the exchange in enter
      behind = M::wait_until(mine.next_, [](Guard* next) { return next != nullptr; });  // its acquire pairs with enter
    }
    behind->turn_.store(1, kRelease);  // pairs with the wait in enter
  }

  typename M::template Atomic<Guard*> tail_{nullptr};
};

template <class M>
class Mcs : public OneLock<M, McsLock<M>, typename McsLock<M>::Guard> {
 public:
  static constexpr std::string_view kName = "mcs";
  static constexpr std::string_view kAbout = "one global queue lock: each waits on a line of its own";
  using Mcs::OneLock::OneLock;
};

}  // namespace latchlab
