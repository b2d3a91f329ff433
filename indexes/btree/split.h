#pragma once
// Inserts that split nodes. A split is lazy: it goes up from the leaf as far as nodes are full, and locks exactly these
// nodes and the one above them, into which the last key goes.
//
//     leaf   | a b c d |  + e          | a b |   | c d e |
//     above  | ... p ... |       ->    | ... p ... c ... |
//
// A full node is divided at the half. But a key behind all others of the tree begins new nodes of its own, on all
// levels that are split. So ascending keys leave full nodes.
#include <span>

#include "indexes/btree/descent.h"
#include "indexes/btree/node.h"
#include "indexes/btree/path.h"
#include "indexes/btree/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::btree {

template <class Layout, class Key>
class Split {
  using Descent = btree::Descent<Layout, Key>;
  using Node = btree::Node<Layout>;
  using Inner = btree::Inner<Layout, Key>;
  using Leaf = btree::Leaf<Layout, Key>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  static constexpr u32 kMostNodes = Sizes<Layout, Key>::kMostNodes;
  template <class Tx>
  using Path = btree::Path<Layout, Key, Tx>;

 public:
  /// Inserts an absent key into a full leaf.
  template <class Tx>
  [[gnu::noinline]] static Attempt<bool> insert(Tx& tx, Anchor<Layout>* anchor, const Sought& key, u64 value) {
    Path<Tx> path;
    if (!path.descend(tx, anchor, key)) return kRestart;
    Leaf* const leaf = Descent::leaf(path.back());
    if (!leaf->full() || leaf->find(key) != nullptr) return kRestart;  // it has changed since the caller read it
    const u32 last = path.nodes() - 1;
    u32 top = last - 1;  // the node into which a key goes without a split
    while (top > 0 && Descent::inner(path[top])->full()) --top;
    const bool grows = top == 0;  // there is no such node, so the root is split
    if (grows && path.nodes() == kMostNodes) return kNoMemory;

    Node* made[kMostNodes];  // the right neighbours of the nodes below top, and in place 0 a new root
    for (u32 i = grows ? 0 : top + 1; i < last; ++i) {
      made[i] = tx.template make<Inner>();
      if (made[i] == nullptr) return kNoMemory;
    }
    Leaf* const right = tx.template make<Leaf>();
    if (right == nullptr) return kNoMemory;
    const Attempt<Kept> kept = Forms::make(tx, key);
    if (!kept) return kNoMemory;
    const u32 rank = leaf->rank(key);
    const bool at_end = path.at_end() && rank == Leaf::kMost;
    const u32 stay = at_end ? Leaf::kMost : Leaf::kMost / 2;
    const Kept before = leaf->key_at(stay - 1), behind = rank == stay ? *kept : leaf->key_at(stay);
    if (Forms::unused(before) || Forms::unused(behind)) return kRestart;  // read in the middle of a change
    const Attempt<Kept> least = Forms::make_between(tx, before, Forms::sought(behind));
    if (!least) return kNoMemory;
    const u32 first = BugFlags<typename Layout::Bugs::Flag>::kDropParent ? top + 1 : top;
    if (!tx.upgrade(path.readers(first, last))) return kRestart;

    leaf->split(stay, *right);
    (rank < stay ? leaf : right)->insert(*kept, value);
    Kept between = *least;
    Node* child = right;
    for (u32 i = last - 1; i > top; --i) {
      Inner* const next = Descent::inner(made[i]);
      if (at_end) {
        next->begin_with(child);
      } else {
        between = add(*Descent::inner(path[i]), path.child_of(i), between, child, *next);
      }
      child = next;
    }
    if (grows) {
      Inner* const root = Descent::inner(made[0]);
      root->begin_with(path[1].node());
      root->insert(0, between, child);
      anchor->root.store(Root<Layout>(root, last).word());
    } else {
      Descent::inner(path[top])->insert(path.child_of(top), between, child);
    }
    return true;
  }

 private:
  /// Splits a full node, and adds a key as number i and the child behind it. Returns the key between the halves.
  static Kept add(Inner& node, u32 i, Kept key, Node* child, Inner& right) {
    constexpr u32 kStay = Inner::kMost / 2;
    const Kept between = node.split(kStay, right);
    if (i <= kStay) {
      node.insert(i, key, child);
    } else {
      right.insert(i - kStay - 1, key, child);
    }
    return between;
  }
};

}  // namespace latchlab::btree
