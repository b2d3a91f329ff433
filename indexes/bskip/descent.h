#pragma once
// The ways down the B-skiplist: to the leaf of a key, and to the nodes on the left of it.
//
// On each level a way goes right while the key is not less than the node's bound, and then down.
//
// Theorem: the keys from a node's least key to its bound are in this node, on its level, as long as its version holds.
//   1. A step down reads the child's version, and then proves that the parent had not changed. So at that moment the
//      child was linked below this key, which is the child's least key (bskip.h, invariant 2).
//   2. A step to the right does the same for the next node, whose least key is the bound.
//   3. The least key of a node changes only in an erasure, which locks the node and its left neighbour. The bound and
//      the keys of a node change only where the node is locked.
// So a reader of one node knows all that the index has between these two keys.
//
// Each walk ends: the nodes of a level are in order, a node never moves to the left, and each step goes on to a node
// that was further on the right when the link was read. That holds for reads that nothing proves, too.
#include "indexes/bskip/node.h"
#include "indexes/bskip/seeded_bugs.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::bskip {

template <class Layout, class Key>
class Descent {
 public:
  using Machine = typename Layout::Machine;
  using Heads = bskip::Heads<Layout, Key>;
  using Node = bskip::Node<Layout, Key>;
  using Inner = bskip::Inner<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  using Sought = typename btree::Forms<Key>::Sought;
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

  /// Goes to the leaf of the key. Returns false to restart. If kClaims, it claims the leaf, unless level 0 is the only
  /// one.
  template <bool kClaims = false, class Tx>
  [[nodiscard, gnu::always_inline]] static bool to_leaf(Tx& tx, Heads& heads, const Sought& key, ReaderOf<Tx>& at) {
    u32 level = heads.top();
    at = tx.enter(heads.node(level));
    for (;;) {
      if (!go_right(at, key, level)) [[unlikely]]
        return false;
      if (level == 0) return true;
      --level;
      Node* const child = inner(at)->child(inner(at)->child_of(key));
      if (child == nullptr) [[unlikely]]  // read in the middle of a change
        return false;
      prefetch(child, level);
      if (kClaims && level == 0) return claim(tx, at, child, key);
      if (!at.step_to(child)) [[unlikely]]
        return false;
    }
  }

  /// Goes from the level `from` down to level 0, and calls pass(at, level) for the node of the key on each level.
  /// If kLeft, these are the nodes of the keys just before it. Returns false to restart.
  template <bool kLeft, class Tx, class Pass>
  [[nodiscard]] static bool down(Tx& tx, Heads& heads, const Sought& key, u32 from, const Pass& pass) {
    ReaderOf<Tx> at = tx.enter(heads.node(from));
    for (u32 level = from;; --level) {
      if (!go_right<kLeft>(at, key, level)) return false;
      pass(at, level);
      if (level == 0) return true;
      const Inner* const node = inner(at);
      Node* const child = node->child(kLeft ? node->child_before(key) : node->child_of(key));
      if (child == nullptr) return false;
      prefetch(child, level - 1);
      if (!at.step_to(child)) return false;
    }
  }

  /// Prefetches a node of a level.
  [[gnu::always_inline]] static void prefetch(Node* node, u32 level) {
    static_assert(!btree::kLarge<Layout>);
    if (sizeof(Inner) == sizeof(Leaf) || level == 0) {  // nodes of the same size need not be told apart
      leaf(node)->prefetch();
    } else {
      inner(node)->prefetch();
    }
  }

 private:
  using Bugs = BugFlags<typename Layout::Bugs::Flag>;

  template <bool kLeft = false, class Reader>
  [[nodiscard, gnu::always_inline]] static bool go_right(Reader& at, const Sought& key, u32 level) {
    while (kLeft ? at->is_before_left_of(key) : at->is_before(key)) {
      Node* const next = at->next();
      if (next == nullptr) [[unlikely]]
        return false;
      prefetch(next, level);
      if (!at.step_to(next)) [[unlikely]]
        return false;
    }
    return true;
  }

  /// Goes on to the leaf of the key, from a node that leads to `child`, and claims it. A claim must not be followed by
  /// a step, and may wait before it knows the bound of the leaf. So each leaf's bound is read before, which proves
  /// nothing, and again when the claim holds.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] static bool claim(Tx& tx, ReaderOf<Tx>& at, Node* child, const Sought& key) {
    for (;;) {
      if (!at.follow(child)) [[unlikely]]
        return false;
      if (!child->is_before(key)) [[likely]] {
        if (!tx.claim(at, child)) [[unlikely]]
          return false;
        if (Bugs::kTrustPeek || !child->is_before(key)) [[likely]]
          return true;
        tx.unclaim();
        return false;
      }
      if (!at.step_to(child)) [[unlikely]]
        return false;
      if (!child->is_before(key)) return true;  // another leaf was joined to this one; it goes without a claim
      child = child->next();
      if (child == nullptr) [[unlikely]]
        return false;
      prefetch(child, 0);
    }
  }
};

}  // namespace latchlab::bskip
