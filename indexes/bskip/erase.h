#pragma once
// Erasures that change several nodes. A key goes from all its levels in one attempt. On each level
//
//   it is within a node     then it is only removed. This is so on the key's highest level at most
//   it begins a node        then the node's next key becomes the least one, and the left neighbour's bound. If the rest
//                           of the node fits beside the content of the left neighbour into three quarters of a node, it
//                           goes there, and the node is retired. So a node never is empty, the first of a level apart
//
// If the node that the key was within is left sparse, it takes over the next node, if that fits likewise. The next node
// must not begin with a key that is on the level above, too: then a node there leads to it.
#include <span>

#include "indexes/bskip/descent.h"
#include "indexes/bskip/heights.h"
#include "indexes/bskip/node.h"
#include "indexes/bskip/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::bskip {

template <class Layout, class Key, class Tx>
class Erase {
  using Descent = bskip::Descent<Layout, Key>;
  using Heads = bskip::Heads<Layout, Key>;
  using Node = bskip::Node<Layout, Key>;
  using Inner = bskip::Inner<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  using Reader = typename Descent::template ReaderOf<Tx>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  static constexpr u32 kLevels = Heads::kLevels;

 public:
  Erase(Tx& tx, Heads& heads) : tx_(tx), heads_(heads) {}

  /// Returns true if a leaf might take over its next one when it has lost a key.
  static bool may_join(const Leaf& leaf) { return is_sparse(leaf) && may_join(leaf, 0); }

  /// Erases a key of this height if its value is wanted.
  Attempt<bool> erase(const Sought& key, u32 height, const auto& wanted) {
    bool holds = true;
    const auto keep = [&](const Reader& reader, u32 level) {
      if (level <= height) holds = holds && place_[level].set(reader, key);
    };
    const u32 top = heads_.top();
    if (!Descent::template down<true>(tx_, heads_, key, top < height ? height : top, keep) || !holds) return kRestart;
    const Reader& last = place_[0].node;
    const auto* const value = Descent::leaf(last)->find(key);
    if (value == nullptr || !wanted.fits(*value)) return tx_.confirm(false, last);
    for (u32 level = 0; level <= height; ++level) {
      Place& place = place_[level];
      place.goes = place.begins && rest_fits(place, level);
      name(place.node);
      if (place.begins && !Bugs::kDropLeft) name(place.left);
    }
    Reader right = place_[height].node;
    const bool joins = !place_[height].begins && is_sparse(right, height) && may_join(*right.node(), height);
    if (joins) {
      Node* const next = right->next();
      if (next == nullptr || !right.step_to(next)) return kRestart;
    }
    const bool takes_over = joins && next_fits(place_[height].node, right, height);
    if (takes_over && !Bugs::kDropRight) name(right);
    if (!tx_.upgrade(std::span<const Reader>(changed_, named_))) return kRestart;

    for (u32 level = height; level > 0; --level) remove_above(place_[level], level, key);
    Forms::retire(tx_, remove_from_leaf(place_[0], key));
    if (takes_over) join(place_[height].node, height);
    return true;
  }

 private:
  using Bugs = BugFlags<typename Layout::Bugs::Flag>;

  /// The key on a level.
  struct Place {
    Reader left;  // the node of the keys just before it
    Reader node;  // the node of the key, perhaps the same
    bool begins;  // the key is the least of `node`, so `left` is another node
    bool goes;    // the rest of `node` goes to `left`

    [[nodiscard]] bool set(const Reader& at, const Sought& key) {
      left = node = at;
      begins = at->is_before(key);
      if (!begins) return true;
      Node* const next = at->next();
      return next != nullptr && node.step_to(next);
    }
  };

  static bool rest_fits(const Place& place, u32 level) {
    if (level == 0) {
      const u32 rest = Descent::leaf(place.node)->entries() - 1;
      return rest == 0 || Descent::leaf(place.left)->entries() + rest <= Leaf::kMost * 3 / 4;
    }
    const u32 rest = Descent::inner(place.node)->keys();  // the node has one child more than keys, and loses one
    return rest == 0 || Descent::inner(place.left)->keys() + rest <= Inner::kMost * 3 / 4;
  }
  /// Returns true if few keys are left when the node has lost one.
  static bool is_sparse(const Leaf& leaf) { return leaf.entries() - 1 <= Leaf::kMost / 4; }
  static bool is_sparse(const Reader& at, u32 level) {
    return level == 0 ? is_sparse(*Descent::leaf(at)) : Descent::inner(at)->sparse();
  }
  /// Returns true if there is a next node, to which no node of the level above leads once the key is gone.
  static bool may_join(const Node& node, u32 height) {
    if (node.next() == nullptr) return false;
    const Kept bound = node.bound();
    return !Forms::unused(bound) && Levels<Layout>::height(Forms::sought(bound)) <= height;
  }
  static bool next_fits(const Reader& at, const Reader& next, u32 level) {
    if (level == 0) return Descent::leaf(at)->entries() - 1 + Descent::leaf(next)->entries() <= Leaf::kMost * 3 / 4;
    return Descent::inner(at)->keys() + Descent::inner(next)->keys() <= Inner::kMost * 3 / 4;
  }

  /// Removes the key from an inner node, and the child that it leads to.
  void remove_above(const Place& place, u32 level, const Sought& key) {
    Inner& node = *Descent::inner(place.node);
    if (!place.begins) {
      node.remove_child(node.child_of(key));
      return;
    }
    const bool is_empty = node.keys() == 0;
    const Kept least = is_empty ? Kept() : node.remove_child(0);
    if (!place.goes) return place.left->set_bound(least);
    if (!is_empty) Descent::inner(place.left)->merge(least, node);
    retire_next(place.left, level);
  }
  /// Removes the key from its leaf, and returns it.
  Kept remove_from_leaf(const Place& place, const Sought& key) {
    Leaf& leaf = *Descent::leaf(place.node);
    const Kept gone = leaf.remove(key);
    if (place.goes) {
      Descent::leaf(place.left)->merge(leaf);
      retire_next(place.left, 0);
    } else if (place.begins) {
      place.left->set_bound(leaf.key_at(0));
    }
    return gone;
  }
  /// Moves the content of the next node to this one.
  void join(const Reader& at, u32 level) {
    if (level == 0) {
      Descent::leaf(at)->merge(*Descent::leaf(at->next()));
    } else {
      Descent::inner(at)->merge(at->bound(), *Descent::inner(at->next()));
    }
    retire_next(at, level);
  }
  void retire_next(const Reader& at, u32 level) {
    Node* const gone = at->next();
    if (!Bugs::kStayLinked) at->unlink_next();
    tx_.retire(gone, Heads::bytes(level));
  }
  void name(const Reader& reader) { changed_[named_++] = reader; }

  Tx& tx_;
  Heads& heads_;
  Place place_[kLevels];
  Reader changed_[2 * kLevels];  // the nodes that will be changed or unlinked
  u32 named_ = 0;
};

}  // namespace latchlab::bskip
