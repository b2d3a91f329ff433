#pragma once
// The nodes of the B-skiplist: those of the B+-tree (btree/node.h), with a link to the right neighbour.
//
//   Inner   | latch | next | bound | number of keys | key 0 ... key n - 1 | child 0 ... child n     |
//   Leaf    | latch | next | bound | order          | key 0 ... key n - 1 | value 0 ... value n - 1 |
//
// `bound` is the least key of the next node. It is with the link, so a search knows without a look at the next node
// whether it must go there. Without a next node it means nothing.
//
// Child 0 of an inner node belongs to the node's least key, which the left neighbour has as its bound. The first node
// of a level has no least key, and its child 0 is the first node of the level below.
//
//                    inner nodes: u64, byte strings   leaves: u64, byte strings
//      256 bytes           12, 8                            14, 8
#include <cstddef>

#include "indexes/bskip/heights.h"
#include "indexes/btree/keys.h"
#include "indexes/btree/node.h"
#include "indexes/btree/sizes.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::bskip {

inline constexpr u32 kNodeBytes = btree::kSmallBytes;

/// A cell of a kept key.
template <class Layout, class Key>
class Bound;

template <class Layout>
class Bound<Layout, U64Key> {
  using Kept = btree::Forms<U64Key>::Kept;

 public:
  Kept load() const { return word_.load(); }
  void store(Kept key) { word_.store(key); }

 private:
  typename Layout::template Cell<u64> word_{0};
};

template <class Layout>
class Bound<Layout, BytesKey> {
  using Kept = btree::Forms<BytesKey>::Kept;

 public:
  Kept load() const { return {head_.load(), record_.load()}; }
  void store(Kept key) {
    head_.store(key.head);
    record_.store(key.record);
  }

 private:
  typename Layout::template Cell<u64> head_{0};
  typename Layout::template Cell<const btree::Record*> record_{nullptr};
};

/// The part of a node that inner nodes and leaves share, and that transactions know.
template <class Layout, class Key>
class Node {
 public:
  static constexpr u32 kLinkBytes = sizeof(Node*) + sizeof(Bound<Layout, Key>);
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;

  [[no_unique_address]] typename Layout::Latch latch;
  static constexpr u8 tag() { return 0; }

  /// Returns the right neighbour, or null.
  Node* next() const { return next_.load(); }
  Kept bound() const { return bound_.load(); }
  /// Returns true if the key belongs to a node further on the right.
  [[gnu::always_inline]] bool is_before(const Sought& key) const {
    return next() != nullptr && Forms::not_greater(bound(), key);
  }
  /// Returns true if the keys just before this one belong to a node further on the right.
  bool is_before_left_of(const Sought& key) const { return next() != nullptr && Forms::less(bound(), key); }

  /// Links a node behind this one. `least` is the least key of it.
  void link(Node* right, Kept least) {
    right->next_.store(next_.load());
    right->bound_.store(bound_.load());
    next_.store(right);
    bound_.store(least);
  }
  /// Unlinks the next node, of which there is one.
  void unlink_next() {
    const Node* const gone = next_.load();
    next_.store(gone->next_.load());
    bound_.store(gone->bound_.load());
  }
  void set_bound(Kept least) { bound_.store(least); }

 private:
  typename Layout::template Cell<Node*> next_{nullptr};
  Bound<Layout, Key> bound_;
};

template <class Layout, class Key>
using Inner = btree::Inner<Layout, Key, Node<Layout, Key>>;
template <class Layout, class Key>
using Leaf = btree::Leaf<Layout, Key, Node<Layout, Key>>;

/// The first nodes of all levels, which belong to the index.
template <class Layout, class Key>
class Heads {
 public:
  using Node = bskip::Node<Layout, Key>;
  using Inner = bskip::Inner<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  static constexpr u32 kLevels = Levels<Layout>::kLevels;

  Heads() {
    for (u32 level = 1; level < kLevels; ++level) inner_[level - 1].begin_with(node(level - 1));
  }
  /// Returns the bytes of a node.
  static constexpr std::size_t bytes(u32 level) { return level == 0 ? sizeof(Leaf) : sizeof(Inner); }
  /// Returns the first node of a level.
  Node* node(u32 level) { return level == 0 ? static_cast<Node*>(&leaf_) : &inner_[level - 1]; }
  /// Returns the node whose latch guards top().
  Node* highest() { return node(kLevels - 1); }
  /// Returns the highest level that has ever had a key. A descent may begin on any level, so it need not prove this.
  u32 top() const { return top_.load(); }
  void raise(u32 level) { top_.store(level); }

  /// Returns true if a leaf has no room. The first leaf keeps a place free: a tall key that is less than all others
  /// takes them into a new leaf, which must hold them and the key.
  bool is_full(const Leaf& leaf) const { return leaf.entries() >= Leaf::kMost - (&leaf == &leaf_); }
  bool is_first(const Leaf* leaf) const { return leaf == &leaf_; }

 private:
  Leaf leaf_;
  Inner inner_[kLevels - 1];
  typename Layout::template Cell<u32> top_{0};
};

}  // namespace latchlab::bskip
