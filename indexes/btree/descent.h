#pragma once
// The way down the B+-tree to the leaf of a key.
//
// The word of the root has its height, so a descent knows each node's kind by its level: a leaf is at level 0. A node
// keeps its level as long as it is linked. So a descent ends, whatever it reads.
//
// Theorem: the keys between the bounds that a descent has read for a node are below it as long as its version holds.
//   1. A step reads the child's version, and then proves that the parent had not changed. So at that moment the child
//      was linked below this slot, and the slot's bounds were the child's.
//   2. The bounds of a node narrow only when it is split, which locks it and so changes its version.
//   3. They widen when it is merged with its right neighbour, which locks it. They also widen when a neighbour is
//      unlinked, which does not lock it. A reader of the node then knows bounds that are too narrow. But what it
//      concludes about keys between them is true, and a scan goes on from its bound to the same node.
// So no node stores its bounds, and an insert need not compare its key with them.
#include "indexes/btree/node.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::btree {

/// The root of the tree in one word. Nodes begin on a line, so the height has six bits.
///
///     | address of the node | height: 6 |
template <class Layout>
class Root {
 public:
  explicit Root(u64 word) : word_(word) {}
  Root(const Node<Layout>* node, u32 height) : word_(reinterpret_cast<u64>(node) | height) {}
  u64 word() const { return word_; }
  Node<Layout>* node() const { return reinterpret_cast<Node<Layout>*>(word_ & ~u64{kLineBytes - 1}); }
  /// Returns the number of inner nodes on the way to a leaf.
  u32 height() const { return static_cast<u32>(word_ % kLineBytes); }

 private:
  u64 word_;
};

/// The node above the root, which is never unlinked. Its latch is for changes of the root.
template <class Layout>
struct alignas(kLineBytes) Anchor : Node<Layout> {
  explicit Anchor(Root<Layout> first) : root(first.word()) {}
  typename Layout::template Cell<u64> root;
};

template <class Layout, class Key>
class Descent {
  using Machine = typename Layout::Machine;
  using Node = btree::Node<Layout>;
  using Anchor = btree::Anchor<Layout>;
  using Root = btree::Root<Layout>;

 public:
  using Inner = btree::Inner<Layout, Key>;
  using Leaf = btree::Leaf<Layout, Key>;
  using Kept = typename Forms<Key>::Kept;
  using Sought = typename Forms<Key>::Sought;
  template <class Tx>
  using ReaderOf = typename Tx::template Reader<Node>;

  static Inner* inner(Node* node) { return static_cast<Inner*>(node); }
  static Leaf* leaf(Node* node) { return static_cast<Leaf*>(node); }
  template <class Reader>
  static Inner* inner(const Reader& at) {
    return inner(at.node());
  }
  template <class Reader>
  static Leaf* leaf(const Reader& at) {
    return leaf(at.node());
  }

  /// A visitor of the inner nodes on a way that needs none.
  struct Passing {
    void operator()(const Inner&, u32) const {}
  };
  /// The upper bound of the node to which a way leads: the least key that is greater than those below it.
  struct UpperBound {
    void operator()(const Inner& node, u32 child) {
      if (child < node.keys()) {
        known = true;
        key = node.key(child);
      }
    }
    bool known = false;  // false if the node is the last of its level
    Kept key{};
  };

  /// Enters the root, which `word` of the anchor led to. The link alone proves this step. So a descent does not read
  /// the latch of the anchor. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] static bool enter(Tx& tx, const Anchor* anchor, u64 word, ReaderOf<Tx>& at) {
    return tx.enter_by(at, Root(word).node(), Node::tag(), anchor->root, word) != GuessResult::kChanged;
  }

  /// Goes to the leaf of the key. Calls pass(node, child) for each inner node on the way and the number of its child.
  /// Returns false to restart. Sets `height` to the number of these nodes. If kClaims, it claims the leaf. (A leaf that
  /// is the root is entered without a claim.)
  template <bool kClaims = false, class Tx, class Pass>
  [[nodiscard, gnu::always_inline]] static bool to_leaf(Tx& tx, const Anchor* anchor, const Sought& key,
                                                        ReaderOf<Tx>& at, u32& height, Pass&& pass) {
    const u64 word = anchor->root.load();
    height = Root(word).height();
    if (!enter(tx, anchor, word, at)) return false;
    for (u32 level = height; level > 0; --level) {
      const Inner* const node = inner(at);
      const u32 number = node->child_of(key);
      Node* const child = node->child(number);
      if (child == nullptr) [[unlikely]]  // read in the middle of a change
        return false;
      prefetch(child, level - 1);
      pass(*node, number);
      if (kClaims && level == 1) return tx.claim(at, child);
      if (!at.step_to(child)) [[unlikely]]
        return false;
    }
    return true;
  }

  /// Prefetches the lines of a node that a search asks for first.
  [[gnu::always_inline]] static void prefetch(Node* node, u32 level) {
    static_assert(sizeof(Inner) == sizeof(Leaf));  // so that a small node need not be told from a small leaf
    if (!kLarge<Layout> || level == 0) {
      leaf(node)->prefetch();
    } else {
      inner(node)->prefetch();
    }
  }

  /// Returns the answer of a lookup whose way ended at a leaf.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<Found> answer(Tx& tx, const ReaderOf<Tx>& at, const Sought& key) {
    const auto* const value = leaf(at)->find(key);
    return tx.confirm(value == nullptr ? Found() : Found(value->load()), at);
  }

  /// Goes down to the node of the key that is above kLevel, and prefetches the one at kLevel. Does nothing if there is
  /// none above, and gives up where a node changes meanwhile.
  template <u32 kLevel, class Tx>
  [[gnu::always_inline]] static void prefetch_at(Tx& tx, const Anchor* anchor, const Sought& key) {
    const u64 word = anchor->root.load();
    ReaderOf<Tx> at;
    if (!enter(tx, anchor, word, at)) return;
    for (u32 level = Root(word).height(); level > kLevel; --level) {
      Node* const child = inner(at)->child(inner(at)->child_of(key));
      if (child == nullptr) return;
      prefetch(child, level - 1);
      if (level == kLevel + 1 || !at.step_to(child)) return;
    }
  }
};

}  // namespace latchlab::btree
