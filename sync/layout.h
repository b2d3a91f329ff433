#pragma once
// How an index lays out what is shared: which cells its fields are, and what its nodes carry as a latch. A layout belongs
// to a class of transactions, so all coarse policies share one instantiation of an index.
#include "src/machine/machine.h"
#include "sync/seeded_bugs.h"
#include "sync/version_latch.h"

namespace latchlab {

/// Nodes that are protected as a whole by the policy: plain fields, no latch.
template <class M, class SeededBugs = NoBugs>
struct CoarseLayout {
  using Machine = M;
  using Bugs = SeededBugs;
  struct Latch {
    Latch() = default;
    explicit Latch(u8) {}   // who wants a node's tag asks the node
  };
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
  using Latch = VersionLatch<M>;
  template <class T>
  using Cell = typename M::template Racy<T>;
  template <class T, std::size_t N>
  using Row = typename M::template RacyRow<T, N>;
};

}  // namespace latchlab
