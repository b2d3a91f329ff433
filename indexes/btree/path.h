#pragma once
// A way down the B+-tree with readers of all its nodes, for changes of several of them.
//
//     0: anchor    1: root    ...    nodes() - 1: leaf
#include <span>

#include "indexes/btree/descent.h"
#include "indexes/btree/node.h"

namespace latchlab::btree {

template <class Layout, class Key, class Tx>
class Path {
  using Node = btree::Node<Layout>;
  using Descent = btree::Descent<Layout, Key>;
  static constexpr u32 kMostNodes = Sizes<Layout, Key>::kMostNodes;

 public:
  using Reader = typename Tx::template Reader<Node>;
  using Sought = typename Forms<Key>::Sought;

  /// Goes to the leaf of the key. Returns false to restart. If kClaims, it claims the leaf, as Descent::to_leaf does.
  template <bool kClaims = false>
  [[nodiscard]] bool descend(Tx& tx, Anchor<Layout>* anchor, const Sought& key) {
    at_[0] = tx.enter(static_cast<Node*>(anchor));
    at_[1] = at_[0];
    const Root<Layout> root(anchor->root.load());
    nodes_ = root.height() + 2;
    if (nodes_ > kMostNodes || !at_[1].step_to(root.node())) return false;
    at_end_ = true;
    for (u32 i = 1; i + 1 < nodes_; ++i) {
      const auto* const node = Descent::inner(at_[i]);
      child_[i] = node->child_of(key);
      at_end_ = at_end_ && child_[i] == node->keys();
      Node* const child = node->child(child_[i]);
      at_[i + 1] = at_[i];
      if (child == nullptr) return false;
      if (kClaims && i + 2 == nodes_) return tx.claim(at_[i + 1], child);
      if (!at_[i + 1].step_to(child)) return false;
    }
    return true;
  }
  u32 nodes() const { return nodes_; }
  /// Returns the reader of node i.
  const Reader& operator[](u32 i) const { return at_[i]; }
  const Reader& back() const { return at_[nodes_ - 1]; }
  /// Returns the readers of the nodes from `first` to `last`.
  std::span<const Reader> readers(u32 first, u32 last) const { return {at_ + first, last - first + 1}; }
  /// Returns the number of the child to which the path goes on from the inner node i.
  u32 child_of(u32 i) const { return child_[i]; }
  /// Returns true if the leaf is the last of the tree.
  bool at_end() const { return at_end_; }

 private:
  Reader at_[kMostNodes];
  u32 child_[kMostNodes];
  u32 nodes_ = 0;
  bool at_end_ = true;
};

}  // namespace latchlab::btree
