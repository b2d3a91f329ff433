#pragma once
// `ticket-olc`: olc whose latches are tickets (OPTIK: Guerraoui and Trigonakis, PPoPP 2016). A writer that claims a
// node draws a ticket and waits until it is served. So writers of a node come in order of arrival.
//
//     | version: 32 | ticket: 32 |
//
//     version   the ticket that is served, or would be next
//     ticket    the next ticket to draw; the latch is free if both are equal
//
//     free 7,7 --claim or try_lock--> 7,8 --another claim--> 7,9 --unlock--> 8,9 --unlock--> 9,9 free
//
// A reader reads the version, and trusts what it reads then if `ticket` is still that number: nobody has locked since.
// Both numbers only grow, each by steps of one, so one comparison proves it.
//
// The lemmas that make it safe:
//   1. Only the thread whose ticket is served changes `version`. So its store needs no locked instruction.
//   2. A ticket that was drawn cannot be put back, since others may have drawn later ones. So a claim that is given up
//      serves the next ticket, and readers see a new version.
//   3. A reader that stands still for exactly 2^32 locks of its node would not see them: 40 s at 10 ns each, and one
//      moment in four billion. An upgrade from its version could then enter beside the thread that is served.
//
// Waiting threads look at one word, so each unlock moves its line to all of them. hapax-olc and optiql do not.
//
// Paper: R. Guerraoui, V. Trigonakis. Optimistic concurrency with OPTIK. PPoPP 2016. Its code (ASCYLIB) keeps both
// numbers in one word that it also loads whole; here they are two words, because a cell is accessed in one size. Its
// optik_revert puts a ticket back, which lemma 2 forbids where threads queue.
#include <string_view>

#include "sync/queued.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class TicketLatch {
 public:
  struct Shared {};
  struct Thread {};
  class Queue {
   public:
    Queue() = default;
    Queue(Shared&, Thread&, u64& waits) : waits_(&waits) {}

   private:
    friend TicketLatch;
    u64* waits_ = nullptr;
  };
  struct Hold {
    u32 mine = 0;  // the ticket
  };

  TicketLatch() = default;
  explicit TicketLatch(u8) {}  // the tag is dropped: only node.tag() has it
  TicketLatch(const TicketLatch&) = delete;
  TicketLatch& operator=(const TicketLatch&) = delete;

  u64 version() const {
    for (;;) {
      const u64 word = this->word();
      if (!locked(word)) [[likely]]
        return word;
      // The unlock that frees the latch is a store to version_. Its acquire pairs with unlock.
      M::wait_until(version_, [word](u32 now) { return now != number(word); });
    }
  }
  u64 word() const {
    const u32 version = version_.load(kAcquire);  // pairs with unlock: the reader sees that writer's stores
    return word_of(version) | (ticket_.is(version) ? 0 : kLocked);
  }
  /// The fence orders the earlier reads before the load. It pairs with the fences in try_lock and claim: if one of
  /// those reads saw a writer's store, the load sees its ticket.
  [[nodiscard]] bool unchanged(u64 version) const {
    if (held(version)) return true;
    M::acquire_fence();
    return ticket_.is(number(version));  // relaxed: the fence orders it
  }

  [[nodiscard]] bool try_lock(u64 version, Queue, Hold& hold) {
    u32 ticket = number(version);
    // Relaxed: the reader of that version has acquired what came before it.
    if (!ticket_.compare_exchange(ticket, number(version) + 1, kRelaxed)) return false;
    M::release_fence();  // pairs with the fence in unchanged: a reader that sees a later store also sees the ticket
    hold.mine = number(version);
    return true;
  }
  [[nodiscard]] u64 claim(Queue queue, Hold& hold) {
    hold.mine = ticket_.fetch_add(1, kRelaxed);  // relaxed: the next load orders what follows
    // Its acquire, and that of the wait, pair with unlock.
    if (version_.load(kAcquire) != hold.mine) {
      ++*queue.waits_;
      M::wait_until(version_, [mine = hold.mine](u32 now) { return now == mine; });
    }
    M::release_fence();  // pairs with the fence in unchanged
    return word_of(hold.mine) | kLocked;
  }
  void unlock(Queue, const Hold& hold) {
    version_.store(hold.mine + 1, kRelease);  // pairs with word and claim
    M::wake(&version_);
  }

  /// Unlocks although nothing was stored. (The bug puts the ticket back.)
  void release(Queue queue, const Hold& hold) {
    if (Bugs::kPutBack) {
      ticket_.fetch_add(~u32{0}, kRelaxed);
    } else {
      unlock(queue, hold);
    }
  }

  static u8 tag(u64 word) { return static_cast<u8>(word & kLocked); }  // 0, the tag of all nodes, if it is unlocked
  static bool locked(u64 word) { return (word & kLocked) != 0; }
  /// Returns true for the version of a latch that the attempt itself holds: no other version has the lock.
  static bool held(u64 version) { return locked(version); }

 private:
  static constexpr u64 kLocked = 1;
  static u64 word_of(u32 version) { return u64{version} << 8; }
  static u32 number(u64 word) { return static_cast<u32>(word >> 8); }

  typename M::template Atomic<u32> version_{0};
  typename M::template Atomic<u32> ticket_{0};
};

template <class M, class Bugs = NoBugs>
class TicketOlc : public Queued<M, TicketLatch<M, Bugs>, Bugs> {
 public:
  static constexpr std::string_view kName = "ticket-olc";
  static constexpr std::string_view kAbout = "olc whose writers draw tickets at nodes that they claim";
  using TicketOlc::Queued::Queued;
};

}  // namespace latchlab
