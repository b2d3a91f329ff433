#pragma once
// How an index lays out what is shared: which cells its fields are, what its nodes carry as a latch, and its scale. A
// layout belongs to a class of transactions, so all coarse policies share one instantiation of an index.
#include "src/base/scale.h"
#include "src/machine/machine.h"
#include "sync/seeded_bugs.h"
#include "sync/version_latch.h"

namespace latchlab {

/// What a node carries that has no latch of its own.
struct NoLatch {
  NoLatch() = default;
  explicit NoLatch(u8) {}  // who wants a node's tag asks the node
};

/// Nodes that are protected as a whole by the policy: plain fields, no latch.
template <class M, class SeededBugs = NoBugs>
struct CoarseLayout {
  using Machine = M;
  using Bugs = SeededBugs;
  static constexpr Scale kScale = Scale::kReal;
  using Latch = NoLatch;
  static constexpr bool kLatchFreeReaders = false;
  template <class T>
  using Cell = typename M::template Plain<T>;
  template <class T, std::size_t N>
  using Row = typename M::template PlainRow<T, N>;
};

/// Nodes that are read while they may be changed: racy fields, a version in every node.
template <class M, class SeededBugs = NoBugs>
struct VersionedLayout {
  using Machine = M;
  using Bugs = SeededBugs;
  static constexpr Scale kScale = Scale::kReal;
  using Latch = VersionLatch<M>;
  static constexpr bool kLatchFreeReaders = false;
  template <class T>
  using Cell = typename M::template Racy<T>;
  template <class T, std::size_t N>
  using Row = typename M::template RacyRow<T, N>;
};

/// The same, and readers that ask for no version: what they look for must be in one cell at any moment, or be proved by
/// the node's latch where it is not. Only for an index that says kLatchFreeReaders.
template <class M, class SeededBugs = NoBugs>
struct LatchFreeLayout : VersionedLayout<M, SeededBugs> {
  static constexpr bool kLatchFreeReaders = true;
};

/// Racy fields and no latch in a node: versions are in a table beside the nodes, or there are none and a lock covers
/// all.
template <class M, class SeededBugs = NoBugs>
struct UnlatchedLayout : VersionedLayout<M, SeededBugs> {
  using Latch = NoLatch;
};

}  // namespace latchlab
