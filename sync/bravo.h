#pragma once
// `bravo`: the lock of `rwspin`, whose readers need not write it while no writer comes (Dice and Kogan, ATC 2019). A
// reader writes a slot of its own instead, on a line that no other thread writes.
//
//     bias = 1:   [slot: 1] [slot: 0] [slot: 1] ...   readers inside by their slots; the lock is not touched
//     bias = 0:   the lock of `rwspin`                readers and writers inside by the lock
//
// A reader that sees the bias marks its slot and looks at the bias again. If it is still set, the reader is inside.
// Otherwise it clears its slot and takes the lock.
//
// A writer takes the lock first. If it finds the bias set, it revokes it: it clears the bias, and waits until every
// slot has been clear. Then it is alone, since new readers wait for the lock.
//
// A reader that has taken the lock sets the bias, but not before nine times the length of the last revocation have
// passed since. So revocations take about a tenth of the time at most, and under many writers this is `rwspin`.
//
// The lemmas that make it safe:
//   1. A reader marks its slot (1) and then loads the bias (2). A writer clears the bias (3) and then loads the slot
//      (4), with a full fence in between. So (2) sees (3), or (4) sees (1).
//   2. Only a thread that holds the lock changes the bias: a writer clears it, a reader sets it. So while a writer is
//      inside the bias stays clear.
//   3. A reader that sees the bias sees what the last writer wrote. The reader that set the bias had taken the lock
//      after that writer, and has set it with release (5).
//
// A thread draws the number of its slot with its first biased lookup and never gives it back. If more than kSlots
// threads come, some share a slot; one that finds it marked takes the lock. A writer looks at the drawn slots.
//
// Paper: D. Dice, A. Kogan. BRAVO: biased locking for reader-writer locks. USENIX ATC 2019. There all locks of a
// process share a table of 4096 words, and a reader's word follows from a hash of thread and lock; a writer looks at
// all of them, 32 KiB. Published copies of the code keep the bias in a plain bool, which a compiler may load once for
// both looks; here it is atomic.
#include <algorithm>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "sync/one_lock.h"
#include "sync/rwspin.h"

namespace latchlab {

namespace bravo {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A reader looks at the bias once, before it marks its slot.
  static inline Flag kTrustBias{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace bravo

/// A lock that readers share by their slots, or by `Lock`.
template <class M, SharedLockable Lock, u32 kSlots = 256, class Bugs = bravo::NoBugs>
class BravoLock {
 public:
  /// A thread's slot.
  class Reader {
    friend BravoLock;
    u32 slot_ = kSlots;  // kSlots: none yet
  };

  /// A guard of a reader that shares the lock while it lives.
  class Reading {
   public:
    Reading(BravoLock& lock, Reader& reader) : lock_(lock), slot_(lock.enter(reader)) {}
    ~Reading() { lock_.leave(slot_); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    BravoLock& lock_;
    const u32 slot_;
  };

  void lock() {
    lock_.lock();
    if (bias_.load(kRelaxed) != 0) revoke();  // relaxed: lemma 2
  }
  void unlock() { lock_.unlock(); }

 private:
  struct alignas(kFalseSharingBytes) Slot {
    typename M::template Atomic<u32> marked{0};
  };

  /// Returns the slot by which the reader is inside, or kSlots if it has taken the lock.
  u32 enter(Reader& reader) {
    if (bias_.load(kRelaxed) != 0) {  // relaxed: (2) decides
      // In the order of (1) to (4): if a writer misses this slot there, (2) sees (3).
      if (reader.slot_ == kSlots) [[unlikely]]
        reader.slot_ = drawn_.fetch_add(1, kSeqCst) % kSlots;
      auto& mine = slots_[reader.slot_].marked;
      if (u32 clear = 0; mine.compare_exchange(clear, 1, kSeqCst)) {            // (1)
        if (Bugs::kTrustBias || bias_.load(kSeqCst) != 0) return reader.slot_;  // (2) pairs with (5) as well
        mine.store(0, kRelaxed);  // relaxed: this reader has read nothing yet
        M::wake(&mine);
      }
    }
    lock_.lock_shared();
    if (bias_.load(kRelaxed) == 0 && M::now() >= free_from_.load(kRelaxed)) {  // relaxed: lemma 2
      bias_.store(1, kRelease);                                                // (5) pairs with (2)
    }
    return kSlots;
  }
  void leave(u32 slot) {
    if (slot == kSlots) return lock_.unlock_shared();
    slots_[slot].marked.store(0, kRelease);  // pairs with the wait in revoke
    M::wake(&slots_[slot].marked);
  }

  void revoke() {
    const u64 start = M::now();
    bias_.store(0, kRelaxed);  // (3)
    M::full_fence();           // between (3) and (4); (1) and (2) are sequentially consistent themselves
    const u32 drawn = std::min(drawn_.load(kRelaxed), kSlots);
    for (u32 i = 0; i < drawn; ++i) {
      M::wait_until(slots_[i].marked, [](u32 marked) { return marked == 0; });  // (4); its acquire pairs with leave
    }
    const u64 end = M::now();
    free_from_.store(end + kInhibit * (end - start), kRelaxed);  // relaxed: lemma 2
  }

  static constexpr u64 kInhibit = 9;  // as in the paper

  // Read by all readers, and rarely written.
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> bias_{0};
  typename M::template Atomic<u32> drawn_{0};
  typename M::template Atomic<u64> free_from_{0};  // when a reader may set the bias; nanoseconds of M::now
  alignas(kFalseSharingBytes) Lock lock_;
  Slot slots_[kSlots];
};

template <class M>
using BravoRwSpinLock = BravoLock<M, RwSpinLock<M>>;

template <class M>
class Bravo
    : public OneLock<M, BravoRwSpinLock<M>, typename BravoRwSpinLock<M>::Reading, std::lock_guard<BravoRwSpinLock<M>>> {
 public:
  static constexpr std::string_view kName = "bravo";
  static constexpr std::string_view kAbout = "rwspin whose readers mark slots of their own until a writer comes";
  /// A thread's slot.
  using Learned = typename BravoRwSpinLock<M>::Reader;

  using Bravo::OneLock::OneLock;
};

}  // namespace latchlab
