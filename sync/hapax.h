#pragma once
// `hapax`: one global lock of Dice and Kogan (PPoPP 2026). It serves threads in order of arrival, as `mcs` does, but it
// hands no pointer from thread to thread. Threads know each other by tokens, and a token is used once: a hapax.
//
//     arrive   the token of the thread that came last, which exchanges its own for it
//     depart   the token of the thread that left last
//
//     arrive = 9:   [depart = 5] <-- [waits for 5, has 7] <-- [waits for 7, has 9]
//
// An arriving thread exchanges `arrive` for its token. It finds the token of the thread before it, and may enter when
// `depart` is that token. So it stands behind exactly one thread, and exactly one stands behind it. No token comes
// again, so `depart` cannot be the awaited one before its thread has left.
//
// If all waiting threads looked at `depart`, a handover would move its line to each of them. So they wait on slots: the
// token that a thread waits for chooses one of many. A leaving thread stores its token in `depart` and then in its
// slot.
//
// The lemmas that make it safe:
//   1. A waiting thread reads its slot before it looks at `depart`, and waits until the slot changes. A leaving thread
//      writes `depart` before the slot. So a thread that does not see the awaited token in `depart` has read the slot
//      before that store, and sees it change.
//   2. Tokens share slots, and then a change wakes a thread too early. So it looks at `depart` again.
//   3. No slot takes the same value twice, since it is a token. So no change is missed.
//   4. The change that a thread sees may be of a later token than that which it waits for. It must see `depart` then as
//      well. C++ promises that for the same token alone. Here it holds since a store reaches all threads at once
//      (multi-copy atomicity), as on x86 and ARMv8; elsewhere the store to the slot would have to be an exchange.
//
// A thread draws kBlock tokens at once, so the counter that it draws from is used rarely.
//
// Paper: D. Dice, A. Kogan. Hapax Locks: value-based mutual exclusion. PPoPP 2026, arXiv 2511.14608. There all locks of
// a process share one counter and an array of 4096 slots. Here each index has both for itself, with 256 slots, each on
// a line of its own.
#include <string_view>
#include <type_traits>

#include "src/base/hash.h"
#include "sync/one_lock.h"

namespace latchlab {

namespace hapax {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A thread uses the same token for all its operations.
  static inline Flag kRepeatToken{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace hapax

/// What threads need that know each other by tokens: the tokens, and slots to wait on. `kBlock`: tokens that a thread
/// draws at once. `kSlots`: slots.
template <class M, u64 kBlock = u64{1} << 16, u32 kSlots = 256, class Bugs = hapax::NoBugs>
class HapaxQueue {
 public:
  /// A token is a multiple of this, and 0 is that of no operation.
  static constexpr u64 kStep = 2;

  /// A thread's tokens.
  class Tokens {
    friend HapaxQueue;
    u64 last_ = 0;  // the one that was used last
    u64 left_ = 0;  // unused ones after it
  };

  /// Returns a token that is used once.
  u64 next(Tokens& tokens) {
    if (Bugs::kRepeatToken && tokens.last_ != 0) return tokens.last_;
    if (tokens.left_ == 0) [[unlikely]] {
      // Relaxed: each block is drawn once, and nothing else follows.
      tokens.last_ = drawn_.fetch_add(kStep * kBlock, kRelaxed);
      tokens.left_ = kBlock;
    }
    --tokens.left_;
    return tokens.last_ += kStep;
  }
  /// Waits until `depart` is the token of the thread before. Returns false if it was.
  template <class Atomic>
  bool wait(const Atomic& depart, u64 before) {
    // Acquire: pairs with (1) in leave.
    if (depart.load(kAcquire) == before) return false;
    const Slot& slot = slot_of(before);
    u64 seen = slot.last.load(kAcquire);       // pairs with (2), so that the next load sees what (1) stored before it
    while (depart.load(kAcquire) != before) {  // pairs with (1)
      seen = M::wait_until(slot.last, [seen](u64 now) { return now != seen; });  // its acquire pairs with (2)
    }
    return true;
  }
  /// Stores the thread's own token in `depart`, and wakes the thread that waits for it.
  template <class Atomic>
  void leave(Atomic& depart, u64 mine) {
    depart.store(mine, kRelease);  // (1)
    M::wake(&depart);              // readers of a latch wait for it (hapax_olc.h)
    auto& last = slot_of(mine).last;
    last.store(mine, kRelease);  // (2)
    M::wake(&last);
  }

 private:
  struct alignas(kLineBytes) Slot {
    typename M::template Atomic<u64> last{0};  // token whose thread has left
  };
  Slot& slot_of(u64 token) { return slots_[mix64(token) % kSlots]; }

  alignas(kFalseSharingBytes) typename M::template Atomic<u64> drawn_{0};
  Slot slots_[kSlots];
};

template <class M, class Queue = HapaxQueue<M>>
class HapaxLock {
 public:
  using Tokens = typename Queue::Tokens;

  /// A guard that holds the lock while it lives.
  class Guard {
   public:
    Guard(HapaxLock& lock, Tokens& tokens) : lock_(lock), mine_(lock.enter(tokens)) {}
    ~Guard() { lock_.queue_.leave(lock_.depart_, mine_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    HapaxLock& lock_;
    const u64 mine_;
  };

 private:
  /// Returns the token of this operation.
  u64 enter(Tokens& tokens) {
    const u64 mine = queue_.next(tokens);
    // Relaxed: the token is the whole message. The loads of depart_ order what threads do inside.
    queue_.wait(depart_, arrive_.exchange(mine, kRelaxed));
    return mine;
  }

  alignas(kFalseSharingBytes) typename M::template Atomic<u64> arrive_{0};
  alignas(kFalseSharingBytes) typename M::template Atomic<u64> depart_{0};
  Queue queue_;
};

template <class M>
class Hapax : public OneLock<M, HapaxLock<M>, typename HapaxLock<M>::Guard> {
 public:
  static constexpr std::string_view kName = "hapax";
  static constexpr std::string_view kAbout =
      "one global lock in order of arrival: each thread waits for the token before";
  /// A thread's tokens.
  using Learned = typename HapaxLock<M>::Tokens;

  using Hapax::OneLock::OneLock;
};

}  // namespace latchlab
