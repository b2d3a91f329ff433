#pragma once
// The version word of optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016).
//
//     | times that the node was changed: 56 | tag: 7 | lock: 1 |
//
//     unlocked v --try_lock(v)--> v + 1 --unlock--> v + 256        --unlock_unchanged--> v
//
// A reader remembers an unlocked v, reads racy fields, and trusts what it read if the word is still v. There is no
// obsolete bit: a node is unlinked only while its parent is locked too, and whoever steps to a node validates the
// parent after reading the node's version, or the cell that led to it where the parent is never unlinked
// (Reader::begin). So a version that was read off an unlinked node never survives its step.
//
// The tag is the node's, fixed when it is made: what a reader wants to know first, in the word that it has to load
// anyway. Beside the lock, so that one comparison says "unlocked, and what I guessed".
#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class VersionLatch {
 public:
  /// Bit 0 of the tag must be 0.
  explicit VersionLatch(u8 tag = 0) : word_(tag) {}

  /// The tag in a version.
  static u8 tag(u64 version) { return static_cast<u8>(version); }

  /// Waits until unlocked.
  u64 version() const {
    const u64 word = word_.load(kAcquire);  // pairs with unlock: what that writer did is seen
    if (!locked(word)) [[likely]]
      return word;
    return unlocked_version();
  }
  /// The version, which is no version if the node is locked. Never waits.
  u64 word() const { return word_.load(kAcquire); }  // pairs with unlock, likewise

  /// True if nothing was changed since `version` was read. The fence keeps the reads before it from passing the load
  /// after it; it pairs with the fence in try_lock: if one of those reads saw a writer's store, the load sees its lock.
  [[nodiscard]] bool unchanged(u64 version) const {
    M::acquire_fence();
    return word_.is(version);  // relaxed: the fence has ordered it
  }

  /// Locks if nothing was changed since `version` (unlocked) was read; never waits.
  [[nodiscard]] bool try_lock(u64 version) {
    if (!word_.compare_exchange(version, version + 1, kAcquire)) return false;  // pairs with unlock
    M::release_fence();  // pairs with the fence in unchanged: the lock is seen before any store that follows
    return true;
  }

  /// Inside a hardware transaction that has found it unchanged: whoever reads it later sees that something was.
  void change(u64 version) { word_.store(version + kChange, kRelease); }  // pairs with version and try_lock

  // Only the thread that holds the lock stores the word, so these need no read-modify-write.
  void unlock(u64 version) { change(version); }
  // Release although nothing was stored: our reads stay before the next holder's stores, and whoever acquires this
  // store still pairs with the unlocks before it.
  void unlock_unchanged(u64 version) { word_.store(version, kRelease); }  // pairs with version and try_lock

 private:
  // Acquires as version does, and pairs with unlock. Apart: inlined into every step of a descent it would cost the hot
  // path registers.
  [[gnu::noinline, gnu::cold]] u64 unlocked_version() const {
    return M::wait_until(word_, [](u64 word) { return !locked(word); });
  }
  static bool locked(u64 word) { return (word & 1) != 0; }

  static constexpr u64 kChange = 256;

  typename M::template Atomic<u64> word_;
};

}  // namespace latchlab
