#pragma once
// The version word of optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016): bit 0 is the lock, the
// rest counts the times that the node was changed.
//
//     even v --lock(v)--> v + 1 --unlock--> v + 2        --unlock_unchanged--> v
//
// A reader remembers an even v, reads racy fields, and trusts what it read if the word is still v. There is no
// obsolete bit: a node is unlinked only while its parent is locked too, and whoever steps to a node validates the parent
// after reading the node's version. So a version that was read off an unlinked node never survives its step.
#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class VersionLatch {
 public:
  /// Waits until unlocked.
  u64 version() const {
    const u64 word = word_.load(kAcquire);   // pairs with unlock: what that writer did is seen
    if (!locked(word)) [[likely]] return word;
    return unlocked_version();
  }

  /// True if nothing was changed since `version` was read. The fence keeps the reads before it from passing the load
  /// after it; it pairs with the fence in try_lock: if one of those reads saw a writer's store, the load sees its lock.
  [[nodiscard]] bool unchanged(u64 version) const {
    M::acquire_fence();
    return word_.is(version);   // relaxed: the fence has ordered it
  }

  /// Locks if nothing was changed since `version` (unlocked) was read; never waits.
  [[nodiscard]] bool try_lock(u64 version) {
    if (!word_.compare_exchange(version, version + 1, kAcquire)) return false;   // pairs with unlock
    M::release_fence();   // pairs with the fence in unchanged: the lock is seen before any store that follows
    return true;
  }

  // Only the thread that holds the lock stores the word, so these need no read-modify-write.
  void unlock(u64 version) { word_.store(version + 2, kRelease); }             // pairs with version and try_lock
  // Release although nothing was stored: our reads stay before the next holder's stores, and whoever acquires this store
  // still pairs with the unlocks before it.
  void unlock_unchanged(u64 version) { word_.store(version, kRelease); }       // pairs with version and try_lock

 private:
  // Acquires as version does, and pairs with unlock. Apart: inlined into every step of a descent it would cost the hot path
  // registers.
  [[gnu::noinline, gnu::cold]] u64 unlocked_version() const {
    return M::wait_until(word_, [](u64 word) { return !locked(word); });
  }
  static constexpr bool locked(u64 word) { return (word & 1) != 0; }

  typename M::template Atomic<u64> word_{0};
};

}  // namespace latchlab
