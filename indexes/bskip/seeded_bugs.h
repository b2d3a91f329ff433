// Bugs of the B-skiplist for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::bskip {

template <class Flag>
struct BugFlags {
  /// An insert of a tall key locks the leaf, but not the nodes above it into which it stores.
  static inline Flag kDropUpper{};
  /// An erasure does not lock the left neighbour of a node that the key begins, into which it stores.
  static inline Flag kDropLeft{};
  /// An erasure does not lock the right node that it joins to another, and which it retires.
  static inline Flag kDropRight{};
  /// A node that an erasure retires stays linked to its left neighbour.
  static inline Flag kStayLinked{};
  /// A scan that cannot prove the pairs that it has collected keeps them all the same.
  static inline Flag kKeepUnproven{};
  /// A change of a leaf trusts the bound that it has read before it claimed the leaf.
  static inline Flag kTrustPeek{};
};

}  // namespace latchlab::bskip
