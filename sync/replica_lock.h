#pragma once
// The lock of a replica (nr.h), beside the count of the log's entries that the replica has run. Readers mark slots of
// their own, each on a line that no other thread writes. So lookups of one node do not wait for each other's lines.
//
//     word:   63           1     0            slots:
//            | entries run | taken |          [0] [1] [0] [2] ...      readers inside
//
// The lemmas that make it safe:
//   1. A reader counts itself in its slot (1) and then loads the word (2). A thread that takes the lock changes the
//      word (3) and then loads the slot (4), with a full fence in between. So (2) sees (3), or (4) sees (1).
//   2. A thread that holds the lock waits until each slot has been 0, and new readers wait for the word. So it is
//      alone.
//   3. Giving the lock back stores both parts of the word at once. So a reader that is inside sees every entry that the
//      word counts, whole.
//
// A thread draws the number of its slot with its first lookup and never gives it back. If more than kSlots threads
// come, some share a slot: it is a count. A writer looks at the drawn slots.
//
// It is the distributed reader-writer lock of the paper of node replication, which has such a word for each thread.
#include <algorithm>
#include <type_traits>

#include "src/base/types.h"

namespace latchlab {

namespace nr {

/// Bugs for tests to switch on (sync/seeded_bugs.h explains their use).
template <class Flag>
struct BugFlags {
  /// A replica runs an entry that is not full yet.
  static inline Flag kTakeUnfilled{};
  /// A lookup does not wait for the entries that were completed before it began.
  static inline Flag kReadAtOnce{};
  /// A batch overwrites entries that a replica has not run.
  static inline Flag kOverwrite{};
  /// A thread gives back the lock of a replica, and answers, before what it has run counts as completed.
  static inline Flag kCompleteLate{};
  /// A thread that takes the lock of a replica does not wait for readers inside.
  static inline Flag kMissReaders{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace nr

/// The lock of one replica.
template <class M, class Bugs = nr::NoBugs, u32 kSlots = 256>
class ReplicaLock {
 public:
  /// A thread as a reader of one replica. Without a seat it is alone with the replica, and its guards do nothing.
  class Reader {
   public:
    /// Makes the reader one of the replica with this lock, which must outlive it.
    void sit(ReplicaLock& lock) { lock_ = &lock; }

   private:
    friend ReplicaLock;
    ReplicaLock* lock_ = nullptr;
    u32 slot_ = kSlots;  // kSlots: none yet
  };

  /// A guard of a reader that shares the lock while it lives.
  class Reading {
   public:
    explicit Reading(Reader& reader) : slot_(reader.lock_ == nullptr ? nullptr : &reader.lock_->enter(reader)) {}
    ~Reading() {
      if (slot_ == nullptr) return;
      slot_->fetch_add(-1u, kRelease);  // pairs with the wait in await_readers
      M::wake(slot_);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    typename M::template Atomic<u32>* const slot_;
  };

  /// Returns the number of entries that the replica has run. What they changed is seen by readers inside, and by a
  /// thread that has the lock.
  u64 entries_run() const { return word_.load(kAcquire) >> 1; }  // pairs with unlock

  /// Takes the lock and returns true, or returns false once the replica has run so many entries.
  [[nodiscard]] bool lock_unless(u64 entries) {
    for (;;) {
      // Its acquire pairs with unlock.
      u64 word = M::wait_until(word_, [entries](u64 now) { return now >> 1 >= entries || (now & kTaken) == 0; });
      if (word >> 1 >= entries) return false;
      if (word_.compare_exchange(word, word | kTaken, kAcquire)) break;  // (3) pairs with unlock
    }
    if (!Bugs::kMissReaders) await_readers();
    return true;
  }
  /// Gives the lock back. The replica has run so many entries.
  void unlock(u64 entries) {
    word_.store(entries << 1, kRelease);  // pairs with all loads of the word
    M::wake(&word_);
  }

 private:
  static constexpr u64 kTaken = 1;

  struct alignas(kFalseSharingBytes) Slot {
    typename M::template Atomic<u32> inside{0};
  };

  typename M::template Atomic<u32>& enter(Reader& reader) {
    // In the order of (1) to (4): if a writer misses this slot there, (2) sees (3).
    if (reader.slot_ == kSlots) [[unlikely]]
      reader.slot_ = drawn_.fetch_add(1, kSeqCst) % kSlots;
    auto& mine = slots_[reader.slot_].inside;
    for (;;) {
      mine.fetch_add(1, kSeqCst);                            // (1)
      if ((word_.load(kSeqCst) & kTaken) == 0) return mine;  // (2) pairs with unlock as well
      mine.fetch_add(-1u, kRelaxed);                         // relaxed: this reader has read nothing yet
      M::wake(&mine);
      M::wait_until(word_, [](u64 now) { return (now & kTaken) == 0; });
    }
  }

  void await_readers() {
    M::full_fence();  // between (3) and (4); (1) and (2) are sequentially consistent themselves
    const u32 drawn = std::min(drawn_.load(kRelaxed), kSlots);
    for (u32 i = 0; i < drawn; ++i) {
      M::wait_until(slots_[i].inside, [](u32 inside) { return inside == 0; });  // (4); its acquire pairs with ~Reading
    }
  }

  alignas(kFalseSharingBytes) typename M::template Atomic<u64> word_{0};
  alignas(kFalseSharingBytes) typename M::template Atomic<u32> drawn_{0};
  Slot slots_[kSlots];
};

}  // namespace latchlab
