#pragma once
// The layouts of an index's shared data: the cells of its fields, the latch or the word of its nodes, and its scale. A
// node with a word has no latch: where nodes have latches, the word is the latch too (WordLatch). A layout
// belongs to a class of transactions, so all coarse policies share one instantiation of an index.
#include "src/base/scale.h"
#include "src/machine/machine.h"
#include "sync/seeded_bugs.h"
#include "sync/version_latch.h"

namespace latchlab {

/// The latch of a node that has none.
struct NoLatch {
  NoLatch() = default;
  explicit NoLatch(u8) {}  // the tag is dropped: only node.tag() has it
};

/// The word of a node that is no latch: a cell that begins with `word`.
template <class Cell>
struct WordCell : Cell {
  explicit WordCell(u64 word = 0) : Cell(word) {}
  void begin_with(u64 own) { this->store(own); }
};

/// The word of a node beside a latch that has no room for it.
template <class Latch, class Cell>
struct WordBesideLatch : Latch, Cell {
  explicit WordBesideLatch(u64 word = 0) : Cell(word) {}
  void begin_with(u64 own) { this->store(own); }
  using Cell::load;
  using Cell::store;
};

/// The layout of an index that the policy protects as a whole: plain fields, no latch.
template <class M, class SeededBugs = NoBugs>
struct CoarseLayout {
  using Machine = M;
  using Bugs = SeededBugs;
  static constexpr Scale kScale = Scale::kReal;
  using Latch = NoLatch;
  using Word = WordCell<typename M::template Plain<u64>>;
  static constexpr bool kLatchFreeReaders = false;
  template <class T>
  using Cell = typename M::template Plain<T>;
  template <class T, std::size_t N>
  using Row = typename M::template PlainRow<T, N>;
};

/// The layout of nodes that are read while they may be changed: racy fields, a version in every node.
template <class M, class SeededBugs = NoBugs>
struct VersionedLayout {
  using Machine = M;
  using Bugs = SeededBugs;
  static constexpr Scale kScale = Scale::kReal;
  using Latch = VersionLatch<M>;
  using Word = WordLatch<M>;
  static constexpr bool kLatchFreeReaders = false;
  template <class T>
  using Cell = typename M::template Racy<T>;
  template <class T, std::size_t N>
  using Row = typename M::template RacyRow<T, N>;
};

/// The same layout for readers that read no version. The data that such a reader looks for must be in one cell at any
/// moment. Otherwise the reader must validate it by the node's latch. Only for an index with kLatchFreeReaders.
template <class M, class SeededBugs = NoBugs>
struct LatchFreeLayout : VersionedLayout<M, SeededBugs> {
  static constexpr bool kLatchFreeReaders = true;
};

/// The layout of racy fields without a latch in the node: versions are in a table of stripes, or a lock covers the
/// whole index.
template <class M, class SeededBugs = NoBugs>
struct UnlatchedLayout : VersionedLayout<M, SeededBugs> {
  using Latch = NoLatch;
  using Word = WordCell<typename M::template Racy<u64>>;
};

}  // namespace latchlab
