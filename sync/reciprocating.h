#pragma once
// `reciprocating`: one global lock of Dice and Kogan (PPoPP 2025). As under `mcs` each thread waits on a word of its
// own. The lock is one word, an arrival is one exchange, and a handover is one store: nobody waits for a link.
//
//     arrivals: 0                  the lock is free
//               &empty_            a thread is inside, and nobody has come since the last segment left
//               the newest guard   a thread is inside, and others wait
//
//     arrivals --> [C] --> [B] --> [A], which is inside
//                  waits   waits   the end of the segment
//
// An arriving thread exchanges the word for its guard, and what it finds there is served after it. So the waiting
// threads are a stack, which nobody ever walks. When A leaves with nobody behind, it takes the whole stack: it puts
// &empty_ in its place and lets the newest thread in, which lets in the next, and so on. Such a stack is a segment. No
// thread joins it once it is taken; later ones make the next segment.
//
// The oldest thread of a segment would go on to A, which has left long ago. So the address of A travels along the
// segment, in the gates, as its end. The thread that finds it behind itself is the last one.
//
// The lemmas that make it safe:
//   1. An end is compared and never followed. So A may return, and use its guard again, while its segment is served.
//   2. Of the guards behind which a segment's threads stand, only the end belongs to a thread that is not in it. So the
//      comparison names the right thread, although A's guard may wait in the next segment at that time.
//   3. Only the thread before writes `gate`, as its last access, and enter returns only after it has seen that store.
//      So a guard on the stack outlives all uses by other threads.
//
// A segment is served from the newest to the oldest, so the order is not that of arrival. A waiting thread is overtaken
// by those that join its segment after it, by each of them once. So nobody starves, but some threads may get more turns
// than others.
//
// Paper: D. Dice, A. Kogan. Reciprocating Locks. PPoPP 2025, arXiv 2501.02380. Its code marks an empty stack by address
// 1 and has one element for each thread; here the mark is the address of a member, and the element is on the stack of
// the operation. Its release looks at the word before its compare-and-exchange; here it does not.
#include <string_view>

#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class ReciprocatingLock {
  struct Element {
    typename M::template Atomic<const Element*> gate{nullptr};  // opens with the end of the segment
  };

 public:
  /// A guard that holds the lock while it lives; it is also the element that waits.
  class alignas(kFalseSharingBytes) Guard {
   public:
    explicit Guard(ReciprocatingLock& lock) : lock_(lock) { lock_.enter(*this); }
    ~Guard() { lock_.leave(*this); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    friend ReciprocatingLock;
    Element element_;
    const Element* end_ = &element_;  // of the segment that this thread serves
    Element* behind_ = nullptr;       // the next to be served in it
    ReciprocatingLock& lock_;
  };

 private:
  void enter(Guard& mine) {
    // Acquire: pairs with leave if the lock is free; else with the exchange of the thread behind, whose gate is written
    // next. Release: pairs with the exchange of those who find this element.
    Element* const before = arrivals_.exchange(&mine.element_, kAcqRel);
    if (before == nullptr) return;
    if (before != &empty_) mine.behind_ = before;
    // Its acquire pairs with leave.
    mine.end_ = M::wait_until(mine.element_.gate, [](const Element* end) { return end != nullptr; });
    if (mine.end_ == mine.behind_) {
      mine.behind_ = nullptr;
      mine.end_ = &empty_;
    }
  }

  void leave(Guard& mine) {
    Element* next = mine.behind_;
    if (next == nullptr) {
      // With nobody behind, `end` is what the word holds if nobody has come: its own element, or empty_.
      Element* found = mine.end_ == &empty_ ? &empty_ : &mine.element_;
      if (arrivals_.compare_exchange(found, nullptr, kRelease)) return;  // pairs with the exchange in enter
      next = arrivals_.exchange(&empty_, kAcquire);                      // pairs with the exchange in enter
    }
    next->gate.store(mine.end_, kRelease);  // pairs with the wait in enter
    M::wake(&next->gate);
  }

  typename M::template Atomic<Element*> arrivals_{nullptr};
  Element empty_;  // only its address is used
};

template <class M>
class Reciprocating : public OneLock<M, ReciprocatingLock<M>, typename ReciprocatingLock<M>::Guard> {
 public:
  static constexpr std::string_view kName = "reciprocating";
  static constexpr std::string_view kAbout = "one global lock: segments of waiting threads, each from newest to oldest";
  using Reciprocating::OneLock::OneLock;
};

}  // namespace latchlab
