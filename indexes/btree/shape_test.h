#pragma once
// Checks the nodes of a B+-tree that no thread is changing.
#include <string>
#include <utility>

#include "indexes/btree/btree.h"
#include "sync/version_latch.h"

namespace latchlab::testing {

/// The nodes and pairs of a tree, and the first thing that is wrong with them.
struct Shape {
  u32 height = 0, inners = 0, leaves = 0, pairs = 0;
  std::string complaint;
};

template <class PlainLayout, class Key, u32 kBytes>
class ShapeOf {
  using Layout = btree::SizedLayout<PlainLayout, kBytes>;
  using Descent = btree::Descent<Layout, Key>;
  using Inner = typename Descent::Inner;
  using Leaf = typename Descent::Leaf;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;

 public:
  /// Checks that the keys of each node ascend and lie between its bounds, that all leaves are at level 0, that unused
  /// places are empty, and that no latch is left.
  static Shape of(const BTreeOf<PlainLayout, Key, kBytes>& tree) {
    ShapeOf shape;
    const auto root = tree.root();
    shape.shape_.height = root.height();
    shape.visit(root.node(), root.height(), nullptr, nullptr);
    if (root.height() > 0 && Descent::inner(root.node())->keys() == 0) shape.complain("the root has one child");
    return shape.shape_;
  }

 private:
  static bool less(Kept a, Kept b) { return Forms::less_than(Forms::sought(a), Forms::sought(b)); }
  /// Returns true if this may be an unused place.
  static bool empty(Kept key) {
    if constexpr (Key::kFixedSize != 0) {
      return key == btree::kNone;
    } else {
      return Forms::unused(key);
    }
  }
  void complain(const char* what) {
    if (shape_.complaint.empty()) shape_.complaint = what;
  }
  /// Checks the node and what is below it. Its keys must be at least `lower` and less than `upper` (null: no bound).
  void visit(btree::Node<Layout>* node, u32 level, const Kept* lower, const Kept* upper) {
    if (node == nullptr) return complain("a child is missing");
    if constexpr (requires { node->latch.word(); }) {
      if (node->latch.locked(node->latch.word())) complain("a latch is left");
    }
    level == 0 ? visit(*Descent::leaf(node), lower, upper) : visit(*Descent::inner(node), level, lower, upper);
  }
  void visit(const Inner& node, u32 level, const Kept* lower, const Kept* upper) {
    ++shape_.inners;
    Kept key[Inner::kMost];
    for (u32 i = 0; i < node.keys(); ++i) {
      key[i] = node.key(i);
      if (i > 0 && !less(key[i - 1], key[i])) complain("the keys of an inner node do not ascend");
      check(key[i], lower, upper);
    }
    for (u32 i = 0; i <= node.keys(); ++i)
      visit(node.child(i), level - 1, i == 0 ? lower : &key[i - 1], i == node.keys() ? upper : &key[i]);
    for (u32 i = node.keys(); i < Inner::kMost; ++i) {
      if (!empty(node.key(i)) || node.child(i + 1) != nullptr) complain("an unused child is left");
    }
  }
  void visit(const Leaf& leaf, const Kept* lower, const Kept* upper) {
    ++shape_.leaves;
    const auto& order = leaf.order();
    shape_.pairs += order.entries();
    for (u32 rank = 0; rank < order.entries(); ++rank) {
      const Kept key = leaf.key_at(rank);
      if (rank > 0 && !less(leaf.key_at(rank - 1), key)) complain("the keys of a leaf do not ascend");
      check(key, lower, upper);
    }
    for (u32 rank = order.entries(); rank < Leaf::kMost; ++rank) {
      if (!empty(leaf.key_at(rank))) complain("an unused key is left");
    }
  }
  void check(Kept key, const Kept* lower, const Kept* upper) {
    if (lower != nullptr && less(key, *lower)) complain("a key is less than the lower bound of its node");
    if (upper != nullptr && !less(key, *upper)) complain("a key is not less than the upper bound of its node");
  }

  Shape shape_;
};

/// A policy, and the size of the nodes of a B+-tree under it.
template <class P, u32 kBytes = btree::kSmallBytes>
struct Case {
  using Policy = P;
  static constexpr u32 kNodeBytes = kBytes;

  /// A B+-tree whose nodes a test can reach. There must be one of its type at a time.
  template <class Layout, class Key>
  struct Tree : BTreeOf<Layout, Key, kBytes> {
    explicit Tree(const auto&...) { seen = this; }
    static inline const Tree* seen = nullptr;
  };

  /// Returns the shape of the tree that was made last for this kind of keys.
  template <class Key>
  static Shape shape() {
    using Layout = typename P::Layout;
    return ShapeOf<Layout, Key, kBytes>::of(*Tree<Layout, Key>::seen);
  }
};

}  // namespace latchlab::testing
