#pragma once
// `ticket`: one global ticket lock, the simplest fair one. Who comes draws the next number and waits until it is
// served.
//
//     next     drawn by a fetch_add: the order of arrival, which is the order of service
//     serving  the number that is inside, or would be if it had come; only its holder writes it
//
// Numbers are drawn once each, and serving grows only when its holder leaves: so whoever reads its own number there is
// alone. They wrap around, which is safe while fewer than 2^32 wait. Everybody waits on the same word, so a handover
// moves its line to every waiter. The two words are on lines of their own: who arrives does not disturb those who wait.
//
// Fair means that a number whose thread is not running holds up all behind it. With more threads than processors those
// that wait give theirs away (M::wait_until), and still every handover may cost a switch.
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
    // Relaxed: the word is this thread's own until the store. That pairs with the wait in lock.
    serving_.store(serving_.load(kRelaxed) + 1, kRelease);
  }

 private:
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> next_{0};
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> serving_{0};
};

template <class M>
class Ticket : public OneExclusiveLock<M, TicketLock<M>> {
 public:
  static constexpr std::string_view kName = "ticket";
  static constexpr std::string_view kAbout = "one global ticket lock: served in order of arrival";
  using Ticket::OneLock::OneLock;
};

}  // namespace latchlab
