#pragma once
// The version word of optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016).
//
//     | number of changes of the node: 56 | tag: 7 | lock: 1 |
//
//     unlocked v --try_lock(v)--> v + 1 --unlock--> v + 256        --unlock_unchanged--> v
//
// A reader remembers an unlocked v, reads racy fields, and trusts them if the word is still v.
//
// There is no obsolete bit. A node is unlinked only while its parent is locked too. A reader that steps to a node
// validates the parent after it has read the node's version. If the parent is never unlinked, the reader validates the
// cell that led to the node instead (VersionedTx::enter_by). So the version of an unlinked node never survives the
// step.
//
// The tag belongs to the node and is fixed when the node is made. A reader needs it first, so it is in the word that
// the reader loads anyway. It is beside the lock, so that one comparison tests "unlocked, and the tag that I guessed".
#include "src/machine/machine.h"

namespace latchlab {

template <class M>
class VersionLatch {
 public:
  /// Makes an unlocked latch. Bit 0 of the tag must be 0.
  explicit VersionLatch(u8 tag = 0) : word_(tag) {}

  /// Returns the tag in a version.
  static u8 tag(u64 version) { return static_cast<u8>(version); }

  /// Returns the version; waits until the node is unlocked.
  u64 version() const {
    const u64 word = word_.load(kAcquire);  // pairs with unlock: the reader sees that writer's stores
    if (!locked(word)) [[likely]]
      return word;
    return unlocked_version();
  }
  /// Returns the word, which is a version unless the node is locked. Never waits.
  u64 word() const { return word_.load(kAcquire); }  // pairs with unlock, likewise

  /// Returns true if the node has not changed since `version` was read. The fence orders the earlier reads before the
  /// load. It pairs with the fence in try_lock: if one of those reads saw a writer's store, the load sees its lock.
  [[nodiscard]] bool unchanged(u64 version) const {
    M::acquire_fence();
    return word_.is(version);  // relaxed: the fence orders it
  }

  /// Locks the node if it has not changed since `version` (unlocked) was read. Never waits.
  [[nodiscard]] bool try_lock(u64 version) {
    if (!word_.compare_exchange(version, version + 1, kAcquire)) return false;  // pairs with unlock
    M::release_fence();  // pairs with the fence in unchanged: a reader that sees a later store also sees the lock
    return true;
  }

  /// Stores a new version inside a hardware transaction that has found the node unchanged, so that later reads see the
  /// change.
  void change(u64 version) { word_.store(version + kChange, kRelease); }  // pairs with version and try_lock

  // Only the thread that holds the lock stores the word, so the next two need no read-modify-write.
  void unlock(u64 version) { change(version); }
  // The store releases although nothing was changed. This thread's reads stay before the next holder's stores, and a
  // thread that acquires this store still synchronizes with the unlocks before it.
  void unlock_unchanged(u64 version) { word_.store(version, kRelease); }  // pairs with version and try_lock

 private:
  // Waits for the unlock. Acquires as version does, and pairs with unlock. Not inlined: in every step of a descent it
  // would cost the hot path registers.
  [[gnu::noinline, gnu::cold]] u64 unlocked_version() const {
    return M::wait_until(word_, [](u64 word) { return !locked(word); });
  }
  static bool locked(u64 word) { return (word & 1) != 0; }

  static constexpr u64 kChange = 256;

  typename M::template Atomic<u64> word_;
};

}  // namespace latchlab
