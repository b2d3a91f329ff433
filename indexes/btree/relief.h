#pragma once
// Leaves in which threads meet.
//
// A leaf is the unit of conflict: threads that change different keys of it make each other's attempts vain. A thread
// many of whose changes have met others looks at the leaf of such a key. If the last look at this leaf was for another
// key, the leaf is split between the two. Nothing helps where all change one key, and nothing is done there. A split
// puts two keys apart until erasures merge their leaves, so there are fewer such splits than keys.
//
// LeanStore counts changes in each leaf, and splits as we do (A. Alhomssi, V. Leis. Contention and Space Management in
// B-Trees. CIDR 2021). Here a thread counts its own, so that a change costs no other line; and a few words of the tree
// keep the last looks.
#include <algorithm>

#include "src/base/hash.h"
#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

/// The state of one thread: when it looks.
template <Scale kScale>
class Relief {
 public:
  /// The interface of a maintenance task of one step. The attempt has its memory from the pool.
  static constexpr bool done() { return true; }
  static constexpr bool prepare(auto&) { return true; }
  static constexpr void one_done() {}
  static constexpr void release(auto&) {}

  /// Counts a change, and whether it has met another thread's. Returns true if the index should look at its leaf: after
  /// kConflicts such changes, if they were at least one in kSeldom.
  bool changed(bool met) {
    ++changes_;
    if (!met || ++conflicts_ < kConflicts) [[likely]]
      return false;
    const bool often = changes_ <= kConflicts * kSeldom;
    changes_ = conflicts_ = 0;
    return often;
  }

 private:
  static constexpr u64 kConflicts = kScale == Scale::kTiny ? 1 : 16;
  static constexpr u64 kSeldom = 100;

  u64 changes_ = 0, conflicts_ = 0;  // since the last look
};

/// One look: a leaf and the rank of a key in one word. The leaf is only compared, and may be gone.
///
///     | address of the leaf: 48 | rank: 16 |
class Look {
 public:
  constexpr explicit Look(u64 word) : word_(word) {}
  Look(const void* leaf, u32 rank) : word_(reinterpret_cast<u64>(leaf) << 16 | rank) {}
  constexpr u64 word() const { return word_; }
  constexpr bool operator==(const Look&) const = default;

  /// Returns the rank in front of which the leaf should be split, or 0 if the looks are at two leaves or for one key.
  constexpr u32 between(const Look& other) const {
    return leaf() != other.leaf() || rank() == other.rank() ? 0 : std::max(rank(), other.rank());
  }

 private:
  constexpr u64 leaf() const { return word_ >> 16; }
  constexpr u32 rank() const { return static_cast<u32>(word_ & 0xffff); }

  u64 word_;
};

/// The last looks at the leaves of a tree. They are hints: a thread writes one while it has the leaf's latch, and
/// another leaf's look may replace it.
template <class Layout>
class alignas(kFalseSharingBytes) Looks {
 public:
  using Cell = typename Layout::template Cell<u64>;
  /// Returns the place of the last look at this leaf.
  Cell& at(const void* leaf) { return look_[mix64(reinterpret_cast<u64>(leaf)) % kPlaces]; }

 private:
  static constexpr u32 kPlaces = 16;
  Cell look_[kPlaces]{};
};

}  // namespace latchlab::btree
