#pragma once
// Splits of leaves. A split is lazy: it goes up from the leaf as far as nodes are full, and locks exactly these nodes
// and the one above them, into which the last key goes. It claims the leaf, and locks the others only if nobody has
// locked them since it read them: a thread that has a latch waits for none.
//
//     leaf   | a b c d |  + e          | a b |   | c d e |
//     above  | ... p ... |       ->    | ... p ... c ... |
//
// There are two:
//
//   insert   a full leaf is divided at the half. But a key behind all others of the tree begins new nodes of its own,
//            on all levels that are split. So ascending keys leave full nodes
//   divide   a leaf that is not full, between two entries that threads change at once (relief.h)
#include <optional>
#include <span>

#include "indexes/btree/descent.h"
#include "indexes/btree/node.h"
#include "indexes/btree/path.h"
#include "indexes/btree/relief.h"
#include "indexes/btree/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::btree {

template <class Layout, class Key, class Tx>
class Split {
  using Descent = btree::Descent<Layout, Key>;
  using Node = btree::Node<Layout>;
  using Inner = btree::Inner<Layout, Key>;
  using Leaf = btree::Leaf<Layout, Key>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  static constexpr u32 kMostNodes = Sizes<Layout, Key>::kMostNodes;

 public:
  Split(Tx& tx, Anchor<Layout>* anchor) : tx_(tx), anchor_(anchor) {}

  /// Inserts an absent key into a leaf that was full.
  [[gnu::noinline]] Attempt<bool> insert(const Sought& key, u64 value) {
    if (!path_.template descend<true>(tx_, anchor_, key)) return kRestart;
    Leaf* const leaf = this->leaf();
    if (leaf->find(key) != nullptr) return kRestart;  // it has changed since the caller read it
    const Attempt<Kept> kept = Forms::make(tx_, key);
    if (!kept) return kNoMemory;
    if (!leaf->full()) {  // another thread has split it
      if (!tx_.upgrade(path_.back())) return kRestart;
      leaf->insert(*kept, value);
      return true;
    }
    const u32 rank = leaf->rank(key);
    const bool at_end = path_.at_end() && rank == Leaf::kMost;
    const u32 stay = at_end ? Leaf::kMost : Leaf::kMost / 2;
    if (const auto failure = prepare(stay, rank == stay ? *kept : leaf->key_at(stay))) return *failure;
    leaf->split(stay, *right_);
    (rank < stay ? leaf : right_)->insert(*kept, value);
    link(at_end);
    return true;
  }

  /// Looks at the leaf of a key whose changes meet those of other threads. If the last look at the leaf was for another
  /// key, splits it between the two; otherwise keeps this look. The last leaf of the tree is not split: threads that
  /// append meet there, and would leave leaves of a few keys. Returns true if it has stored something.
  [[gnu::noinline]] Attempt<bool> divide(const Sought& key, Looks<Layout>& looks) {
    if (!path_.template descend<true>(tx_, anchor_, key)) return kRestart;
    Leaf* const leaf = this->leaf();
    auto& place = looks.at(leaf);
    const Look last(place.load()), now(leaf, leaf->rank(key));
    if (now == last || path_.at_end()) return tx_.confirm(false, path_.back());
    const u32 stay = now.between(last);
    if (stay == 0 || stay >= leaf->entries()) {
      if (!tx_.upgrade(path_.back())) return kRestart;
      place.store(now.word());
      return true;
    }
    if (const auto failure = prepare(stay, leaf->key_at(stay))) return *failure;
    leaf->split(stay, *right_);
    link(false);
    return true;
  }

 private:
  Leaf* leaf() const { return Descent::leaf(path_.back()); }

  /// Makes all that a split needs that leaves `stay` entries, and locks its nodes. `behind` will be the least key of
  /// the right leaf. Returns a failure, or nothing after success.
  std::optional<Failure> prepare(u32 stay, Kept behind) {
    const u32 last = path_.nodes() - 1;
    top_ = last - 1;
    while (top_ > 0 && Descent::inner(path_[top_])->full()) --top_;
    if (grows() && path_.nodes() == kMostNodes) return kNoMemory;
    for (u32 i = grows() ? 0 : top_ + 1; i < last; ++i) {
      made_[i] = tx_.template make<Inner>();
      if (made_[i] == nullptr) return kNoMemory;
    }
    right_ = tx_.template make<Leaf>();
    if (right_ == nullptr) return kNoMemory;
    const Kept before = leaf()->key_at(stay - 1);
    if (Forms::unused(before) || Forms::unused(behind)) return kRestart;  // read in the middle of a change
    const Attempt<Kept> least = Forms::make_between(tx_, before, Forms::sought(behind));
    if (!least) return kNoMemory;
    least_ = *least;
    const u32 first = BugFlags<typename Layout::Bugs::Flag>::kDropParent ? top_ + 1 : top_;
    if (!tx_.upgrade(path_.readers(first, last))) return kRestart;
    return {};
  }

  /// Links the right leaf, and splits the full nodes above. If `at_end`, their new right neighbours begin with the new
  /// nodes below them.
  void link(bool at_end) {
    const u32 last = path_.nodes() - 1;
    Kept between = least_;
    Node* child = right_;
    for (u32 i = last - 1; i > top_; --i) {
      Inner* const next = Descent::inner(made_[i]);
      if (at_end) {
        next->begin_with(child);
      } else {
        between = add(*Descent::inner(path_[i]), path_.child_of(i), between, child, *next);
      }
      child = next;
    }
    if (grows()) {
      Inner* const root = Descent::inner(made_[0]);
      root->begin_with(path_[1].node());
      root->insert(0, between, child);
      anchor_->root.store(Root<Layout>(root, last).word());
    } else {
      Descent::inner(path_[top_])->insert(path_.child_of(top_), between, child);
    }
  }

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

  /// Returns true if no node has room for one more key, so the root is split.
  bool grows() const { return top_ == 0; }

  Tx& tx_;
  Anchor<Layout>* const anchor_;
  Path<Layout, Key, Tx> path_;
  u32 top_ = 0;             // the number of the node into which a key goes without a split
  Node* made_[kMostNodes];  // the right neighbours of the nodes below it; in place 0 a new root
  Leaf* right_ = nullptr;   // the right neighbour of the leaf
  Kept least_{};            // the key between the two leaves
};

}  // namespace latchlab::btree
