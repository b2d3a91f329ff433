#pragma once
// The latches of optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016): one word with a lock and a
// version. VersionLatch has nothing else; WordLatch shares its word with the node.
//
//     | number of changes of the node: 56 | tag: 7 | lock: 1 |      VersionLatch
//
//     unlocked v --try_lock(v)--> v + 1 --set(changed(v))--> v + 256        --set(v)--> v
//
// A reader remembers an unlocked v, reads racy fields, and trusts them if the word is still v.
//
// There is no obsolete bit. A node is unlinked only while its parent is locked too. A reader that steps to a node
// validates the parent after it has read the node's version. If the parent is never unlinked, the reader validates the
// cell that led to the node instead (VersionedReads::enter_by). So the version of an unlinked node never survives the
// step.
//
// The tag belongs to the node and is fixed when the node is made. A reader needs it first, so it is in the word that
// the reader loads anyway. It is beside the lock, so that one comparison tests "unlocked, and the tag that I guessed".
#include <concepts>

#include "src/machine/machine.h"

namespace latchlab {

/// The part that both latches have in common. Bit 0 of the word is the lock.
template <class M>
class LatchBase {
 public:
  static constexpr u64 kLocked = 1;

  explicit LatchBase(u64 word) : word_(word) {}
  LatchBase(const LatchBase&) = delete;
  LatchBase& operator=(const LatchBase&) = delete;

  /// Returns the word; waits until the node is unlocked.
  [[gnu::always_inline]] u64 version() const {
    const u64 word = word_.load(kAcquire);  // pairs with set: the reader sees that writer's stores
    if (!locked(word)) [[likely]]
      return word;
    return unlocked_version();
  }
  /// Returns the word, which is a version unless the node is locked. Never waits.
  [[gnu::always_inline]] u64 word() const { return word_.load(kAcquire); }  // pairs with set, likewise

  /// Returns true if the latch has this version, for a hardware transaction: no fence is needed in one.
  [[nodiscard]] bool has(u64 version) const { return word_.is(version); }

  /// Replaces `version`, which has no lock, by a word with `lock` in it, if the latch still has that version. Never
  /// waits. Only the thread that has done so stores the word until its own set().
  [[nodiscard, gnu::always_inline]] bool try_lock(u64 version, u64 lock = kLocked) {
    if (!word_.compare_exchange(version, version | lock, kAcquire)) return false;  // pairs with set
    M::release_fence();  // pairs with the fence in unchanged: a reader that sees a later store also sees the lock
    return true;
  }
  /// Stores the word that ends a lock, that a hardware transaction leaves, or with which a node begins. If it is the
  /// word before the lock, other readers need not restart. Then the store releases nonetheless: this thread's reads
  /// stay before the next holder's stores, and a thread that acquires this store still synchronizes with the unlocks
  /// before it.
  [[gnu::always_inline]] void set(u64 word) { word_.store(word, kRelease); }  // pairs with version, word and try_lock

  /// Does the same, and ends the waits for an unlocked node. Outside hardware transactions only: in one no thread waits
  /// for the word that it stores, and a wake may be a system call.
  [[gnu::always_inline]] void unlock(u64 word) {
    set(word);
    M::wake(&word_);
  }

  static bool locked(u64 word) { return (word & kLocked) != 0; }

 protected:
  typename M::template Atomic<u64> word_;

 private:
  // Waits for the unlock. Acquires as version does, and pairs with set. Not inlined: in every step of a descent it
  // would cost the hot path registers.
  [[gnu::noinline, gnu::cold]] u64 unlocked_version() const {
    return M::wait_until(word_, [](u64 word) { return !locked(word); });
  }
};

/// The latch of a node that needs no word of its own: a version, and a tag.
template <class M>
class VersionLatch : public LatchBase<M> {
 public:
  /// Makes an unlocked latch. Bit 0 of the tag must be 0.
  explicit VersionLatch(u8 tag = 0) : LatchBase<M>(tag) {}

  /// Returns the tag in a version.
  static u8 tag(u64 version) { return static_cast<u8>(version); }

  /// Returns true if the node has not changed since `version` was read. The fence orders the earlier reads before the
  /// load. It pairs with the fence in try_lock: if one of those reads saw a writer's store, the load sees its lock.
  [[nodiscard, gnu::always_inline]] bool unchanged(u64 version) const {
    M::acquire_fence();
    return this->word_.is(version);  // relaxed: the fence orders it
  }

  /// Returns the version after one more change.
  static u64 changed(u64 version) { return version + kChange; }

 private:
  static constexpr u64 kChange = 256;
};

/// A latch in the word of a node (Layout::Word):
///
///     | number of changes : 23 | the node's : 39 | update : 1 | lock : 1 |
///
/// While the lock is there, anything may change; while `update` is there, only values that readers load at once
/// (VersionedTx::upgrade_value). Readers ignore `update`: a new value is no change of the node.
///
/// A reader that stands still for exactly a multiple of 2^23 changes of its node would not see them, if the node's bits
/// are as before. At 10 ns a change, that is 84 ms on one node alone, and one moment in eight million.
template <class M>
class WordLatch : public LatchBase<M> {
 public:
  static constexpr u64 kUpdating = 2;

  explicit WordLatch(u64 word = 0) : LatchBase<M>(word) {}

  /// Returns the node's bits and the latch's: for readers without validation, and in the word's first use.
  u64 load() const { return this->word(); }
  /// Sets the node's bits before another thread can see the node.
  void begin_with(u64 own) { this->set(own); }

  /// Returns true if nothing but values has changed since `version` was read. The fence is that of VersionLatch.
  [[nodiscard, gnu::always_inline]] bool unchanged(u64 version) const {
    M::acquire_fence();
    return ((this->word_.load(kRelaxed) ^ version) & ~kUpdating) == 0;  // relaxed: the fence orders it
  }

  /// Returns the word after one more change, which gives the node the bits `own`. Other bits of `own` are ignored.
  static u64 changed(u64 version, u64 own) { return ((version & ~kUpdating) + kChange) ^ ((own ^ version) & kOwn); }
  static u64 changed(u64 version) { return changed(version, version); }

  static constexpr u32 kOwnShift = 2;  ///< the node's bits begin here
  static constexpr u32 kOwnBits = 39;

 private:
  static constexpr u64 kChange = u64{1} << (kOwnShift + kOwnBits);
  static constexpr u64 kOwn = kChange - (u64{1} << kOwnShift);
};

/// What a transaction brings to a latch beside the version that it has seen: nothing.
struct NoQueue {};

/// A latch of either kind that a transaction locks, or has locked.
template <class M>
struct VersionLock {
  /// Returns the lock of a latch whose version a reader has seen.
  template <class Latch>
  [[gnu::always_inline]] static VersionLock of(Latch& latch, u64 version) {
    if constexpr (std::same_as<Latch, WordLatch<M>>) version &= ~Latch::kUpdating;
    return {&latch, version, Latch::changed(version)};
  }
  [[nodiscard, gnu::always_inline]] bool try_lock(NoQueue) { return latch->try_lock(version); }
  /// Unlocks with a new version, which publishes the stores.
  [[gnu::always_inline]] void commit(NoQueue) { latch->unlock(next); }
  /// Unlocks with the old version, because nothing was stored.
  [[gnu::always_inline]] void release(NoQueue) { latch->unlock(version); }

  LatchBase<M>* latch;
  u64 version;
  u64 next;  ///< the word at the commit
};

}  // namespace latchlab
