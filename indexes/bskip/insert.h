#pragma once
// Inserts that make nodes. There are two:
//
//   overflow   a low key comes to a full leaf. The leaf is divided at the half, and only it is locked
//   rise       a key of height h >= 1 divides the nodes of the levels below h. On each it begins a new node, which
//              takes the keys behind it. On level h it goes into the node that is there, which is divided if it is
//              full
//
//     level 1   | c         |         | c     m         |
//     level 0   | c f o p   |    ->   | c f | m o p     |       m has height 1
//
// All nodes that are divided are locked at once. A new node is seen when its left neighbour is unlocked.
//
// An overflow at the end of a level leaves a full node, and begins the new one with the key. So ascending keys leave
// full nodes, as far as their heights allow.
#include <span>

#include "indexes/bskip/descent.h"
#include "indexes/bskip/node.h"
#include "indexes/bskip/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::bskip {

template <class Layout, class Key>
class Insert {
  using Descent = bskip::Descent<Layout, Key>;
  using Heads = bskip::Heads<Layout, Key>;
  using Node = bskip::Node<Layout, Key>;
  using Inner = bskip::Inner<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  static constexpr u32 kLevels = Heads::kLevels;

 public:
  /// Inserts an absent key of height 0 into a full leaf.
  template <class Tx, class Reader>
  [[gnu::noinline]] static Attempt<bool> overflow(Tx& tx, const Reader& at, const Sought& key, u64 value) {
    Leaf* const left = Descent::leaf(at);
    const u32 rank = left->rank(key), entries = left->entries();
    const u32 stay = rank == entries && left->next() == nullptr ? entries : entries / 2;
    Leaf* const right = tx.template make<Leaf>();
    if (right == nullptr) return kNoMemory;
    const Attempt<Kept> kept = Forms::make(tx, key);
    if (!kept) return kNoMemory;
    if (!tx.upgrade(at)) return kRestart;
    left->split(stay, *right);
    (rank < stay ? left : right)->insert(*kept, value);
    left->link(right, right->key_at(0));
    return true;
  }

  /// Inserts an absent key of a height of at least 1.
  template <class Tx>
  [[gnu::noinline]] static Attempt<bool> rise(Tx& tx, Heads& heads, const Sought& key, u64 value, u32 height) {
    using Reader = typename Descent::template ReaderOf<Tx>;
    Reader at[kLevels + 1];  // the nodes of the key on the levels from 0 to height, and the one that guards the top
    const u32 top = heads.top();
    const bool raises = height > top;
    if (raises) {
      at[height + 1] = tx.enter(heads.highest());
      if (heads.top() != top) return kRestart;
    }
    const auto keep = [&](const Reader& reader, u32 level) {
      if (level <= height) at[level] = reader;
    };
    if (!Descent::template down<false>(tx, heads, key, raises ? height : top, keep)) return kRestart;
    Leaf* const leaf = Descent::leaf(at[0]);
    if (leaf->find(key) != nullptr) return kRestart;  // it has changed since the caller read it
    const u32 rank = leaf->rank(key);

    Inner* const last = Descent::inner(at[height]);
    const bool divides = last->full();
    Inner* made[kLevels];  // the right neighbours of the inner nodes
    for (u32 level = 1; level < height + divides; ++level) {
      made[level] = tx.template make<Inner>();
      if (made[level] == nullptr) return kNoMemory;
    }
    Leaf* const right = tx.template make<Leaf>();
    if (right == nullptr) return kNoMemory;
    const Attempt<Kept> kept = Forms::make(tx, key);
    if (!kept) return kNoMemory;
    const u32 named = BugFlags<typename Layout::Bugs::Flag>::kDropUpper ? 1 : height + 1 + raises;
    if (!tx.upgrade(std::span<const Reader>(at, named))) return kRestart;

    leaf->split(rank, *right);
    right->insert(*kept, value);
    leaf->link(right, *kept);
    Node* child = right;
    for (u32 level = 1; level < height; ++level) {
      Inner* const node = Descent::inner(at[level]);
      made[level]->begin_with(child);
      node->move(node->child_of(key), *made[level]);
      node->link(made[level], *kept);
      child = made[level];
    }
    if (divides) {
      add_to_full(*last, key, *kept, child, *made[height]);
    } else {
      last->insert(last->child_of(key), *kept, child);
    }
    if (raises) heads.raise(height);
    return true;
  }

 private:
  /// Divides a full node, and adds a key and its child to one of the halves.
  static void add_to_full(Inner& node, const Sought& key, Kept kept, Node* child, Inner& right) {
    const u32 i = node.child_of(key);
    if (i == Inner::kMost && node.next() == nullptr) {
      right.begin_with(child);
      return node.link(&right, kept);
    }
    constexpr u32 kStay = Inner::kMost / 2;
    const Kept between = node.split(kStay, right);
    node.link(&right, between);
    if (i <= kStay) {
      node.insert(i, kept, child);
    } else {
      right.insert(i - kStay - 1, kept, child);
    }
  }
};

}  // namespace latchlab::bskip
