#pragma once
// `ticket`: one global ticket lock, the simplest fair lock. A thread draws the next number and waits until that number
// is served.
//
//     next     the next number to draw, by a fetch_add: the order of arrival, which is the order of service
//     serving  the number that is inside or may enter; only its holder writes it
//
// Each number is drawn once, and serving grows only when its holder leaves. So a thread that reads its own number there
// is alone. Numbers wrap around, which is safe while fewer than 2^32 threads wait. All waiters load the same word, so a
// handover moves its line to each of them. The two words are on separate lines, so that arrivals do not disturb
// waiters.
//
// Fairness has a price: a descheduled thread holds up all threads with later numbers. With more threads than processors
// waiters yield (M::wait_until), and still every handover may cost a context switch.
#include "sync/one_lock.h"

namespace latchlab {

template <class M>
class TicketLock {
 public:
  void lock() {
    const u32 mine = next_.fetch_add(1, kRelaxed);                     // relaxed: the number is the whole message
    M::wait_until(serving_, [mine](u32 now) { return now == mine; });  // its acquire pairs with unlock
  }
  void unlock() {
    // The load is relaxed: only this thread writes the word until its store, which pairs with the wait in lock.
    serving_.store(serving_.load(kRelaxed) + 1, kRelease);
    M::wake(&serving_);
  }

 private:
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> next_{0};
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> serving_{0};
};

template <class M>
class Ticket : public OneExclusiveLock<M, TicketLock<M>> {
 public:
  static constexpr std::string_view kName = "ticket";
  static constexpr std::string_view kAbout = "one global ticket lock: threads are served in order of arrival";
  using Ticket::OneLock::OneLock;
};

}  // namespace latchlab
