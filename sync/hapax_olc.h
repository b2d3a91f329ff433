#pragma once
// `hapax-olc`: olc whose latches are hapax locks. A token is never used again (hapax.h), so the token of the thread
// that has arrived last is a version, too.
//
//     | arrive: 64 | depart: 64 |
//
//     arrive   the token of the thread that has claimed or locked last
//     depart   the token of the thread that has unlocked last; the latch is free if both are equal
//
//     free 5,5 --claim or try_lock--> 7,5 --another claim--> 9,5 --unlock--> 9,7 --unlock--> 9,9 free
//
// A reader reads `depart`, finds it in `arrive` too, and trusts what it reads then if `arrive` is still that token:
// nobody has come since. Writers come in order of arrival, and each waits on a slot that few others look at.
//
// The lemmas that make it safe are those of hapax.h, and one more: every acquisition has a new token, so `arrive` never
// takes a value twice. So a reader cannot mistake one state for another, however long it stands still.
//
// Papers: D. Dice, A. Kogan. Hapax Locks. PPoPP 2026, arXiv 2511.14608, for the lock. That its tokens are versions is
// our idea; the paper has no optimistic readers.
#include <string_view>

#include "sync/hapax.h"
#include "sync/queued.h"

namespace latchlab {

template <class M, class Tickets = HapaxQueue<M>>
class HapaxLatch {
 public:
  using Shared = Tickets;
  using Thread = typename Tickets::Tokens;
  class Queue {
   public:
    Queue() = default;  // for readers, which draw no token
    Queue(Shared& shared, Thread& thread, u64& waits) : shared_(&shared), thread_(&thread), waits_(&waits) {}

   private:
    friend HapaxLatch;
    Shared* shared_ = nullptr;
    Thread* thread_ = nullptr;
    u64* waits_ = nullptr;
  };
  struct Hold {
    u64 mine = 0;  // the token
  };

  HapaxLatch() = default;
  explicit HapaxLatch(u8) {}  // the tag is dropped: only node.tag() has it
  HapaxLatch(const HapaxLatch&) = delete;
  HapaxLatch& operator=(const HapaxLatch&) = delete;

  u64 version() const {
    for (;;) {
      const u64 departed = depart_.load(kAcquire);  // pairs with HapaxQueue::leave
      if (arrive_.is(departed)) [[likely]]
        return departed;
      // A thread has come since the one that departed, so a store to depart_ is to come, or has been.
      M::wait_until(depart_, [departed](u64 now) { return now != departed; });
    }
  }
  u64 word() const {
    const u64 departed = depart_.load(kAcquire);  // pairs with HapaxQueue::leave: the reader sees that writer's stores
    return departed | (arrive_.is(departed) ? 0 : kLocked);
  }
  /// The fence orders the earlier reads before the load. It pairs with the fences in try_lock and claim: if one of
  /// those reads saw a writer's store, the load sees its token.
  [[nodiscard]] bool unchanged(u64 version) const {
    if (held(version)) return true;
    M::acquire_fence();
    return arrive_.is(version);  // relaxed: the fence orders it
  }

  [[nodiscard]] bool try_lock(u64 version, Queue queue, Hold& hold) {
    const u64 mine = queue.shared_->next(*queue.thread_);
    // Relaxed: the reader of that version has acquired what came before it.
    if (!arrive_.compare_exchange(version, mine, kRelaxed)) return false;
    M::release_fence();  // pairs with the fence in unchanged: a reader that sees a later store also sees the token
    hold.mine = mine;
    return true;
  }
  [[nodiscard]] u64 claim(Queue queue, Hold& hold) {
    hold.mine = queue.shared_->next(*queue.thread_);
    // Relaxed: the wait orders what follows.
    if (queue.shared_->wait(depart_, arrive_.exchange(hold.mine, kRelaxed))) ++*queue.waits_;
    M::release_fence();  // pairs with the fence in unchanged
    return hold.mine | kLocked;
  }
  void unlock(Queue queue, const Hold& hold) { queue.shared_->leave(depart_, hold.mine); }
  void release(Queue queue, const Hold& hold) { unlock(queue, hold); }

  static u8 tag(u64 word) { return static_cast<u8>(word & kLocked); }  // 0, the tag of all nodes, if it is unlocked
  static bool locked(u64 word) { return (word & kLocked) != 0; }
  /// Returns true for the version of a latch that the attempt itself holds: no other version has the lock.
  static bool held(u64 version) { return locked(version); }

 private:
  static constexpr u64 kLocked = 1;
  static_assert(Tickets::kStep % 2 == 0, "tokens leave bit 0 to the lock");

  typename M::template Atomic<u64> arrive_{0};
  typename M::template Atomic<u64> depart_{0};
};

template <class M, class Bugs = NoBugs>
class HapaxOlc : public Queued<M, HapaxLatch<M>, Bugs> {
 public:
  static constexpr std::string_view kName = "hapax-olc";
  static constexpr std::string_view kAbout = "olc whose writers wait, at nodes that they claim, for the token before";
  using HapaxOlc::Queued::Queued;
};

}  // namespace latchlab
