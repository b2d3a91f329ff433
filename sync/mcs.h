#pragma once
// `mcs`: one global queue lock of Mellor-Crummey and Scott (TOCS 1991). It serves threads in order of arrival, as
// `ticket` does. But each thread waits on a word of its own, so a handover moves one line to one waiter, however many
// wait.
//
//     tail ----------------------------.
//                                      v
//     [next]-->[next]-->[next]-->[next]: none
//     inside   waits    waits    waits
//
// An arriving thread exchanges the tail for its own queue node. The old tail is its predecessor: the thread links
// itself as the predecessor's `next` and waits for `turn`. Between the exchange and that store the queue has a gap. A
// holder without `next` therefore resets the tail if it is still its own node, and otherwise waits until `next` is set.
//
// The queue node is the guard, on the stack of its operation. It outlives all uses by other threads:
//   1. The predecessor writes only `turn`, as its last access, and enter returns only after it has seen that store.
//   2. The successor writes only `next`, once. leave returns only after it has seen that store, or has seen by the tail
//      that there is no successor.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class McsLock {
 public:
  /// A guard that holds the lock while it lives; it is also the node in the queue.
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
    // Acquire: if the queue is empty, pairs with leave; else with the exchange of the predecessor, whose node is
    // written next. Release: pairs with the exchange of the successor, which writes this node.
    Guard* const before = tail_.exchange(&mine, kAcqRel);
    if (before == nullptr) return;
    before->next_.store(&mine, kRelease);  // pairs with leave, which then writes turn_
    M::wake(&before->next_);
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
    M::wake(&behind->turn_);
  }

  typename M::template Atomic<Guard*> tail_{nullptr};
};

template <class M>
class Mcs : public OneLock<M, McsLock<M>, typename McsLock<M>::Guard> {
 public:
  static constexpr std::string_view kName = "mcs";
  static constexpr std::string_view kAbout = "one global queue lock: each thread waits on a line of its own";
  using Mcs::OneLock::OneLock;
};

}  // namespace latchlab
