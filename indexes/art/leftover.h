#pragma once
// The one or two children that remain when a node loses another child, and the word that can replace the node. That
// word is the last child, or one leaf with all remaining pairs.
#include "indexes/art/child.h"
#include "indexes/art/group.h"
#include "indexes/art/leaf.h"
#include "indexes/art/node.h"

namespace latchlab::art {

template <class Layout, class Key>
class Leftover {
  using Leaf = art::Leaf<Layout, Key>;

 public:
  static constexpr u32 kMaxChildren = 2;

  /// Makes an empty leftover, for a node that keeps too many children.
  Leftover() = default;
  /// Collects the children of `node` except the one in the slot of `but`.
  Leftover(const Node<Layout, Key>& node, u8 but) : values_(node.holds_values()) {
    Entry entry;
    for (u32 byte = 0; node.next(byte, entry); byte = entry.byte + 1u) {
      if (entry.byte == but) continue;
      if (children_ == kMaxChildren) return;  // read at different moments: the upgrade will fail
      child_[children_++] = entry.word;
      if (values_) {
        if constexpr (Key::kFixedSize != 0) pairs_.add(node.path().with_last(entry.byte), entry.word);
        continue;
      }
      const Child child(entry.word);
      foldable_ = foldable_ && child.is_leaf() && pairs_.size() + child.pairs() <= kMaxFold;
      if (foldable_) pairs_.add_all(*child.template as_leaf<Leaf>(), child.pairs());
    }
  }
  /// Returns the word of a child that can move up, or 0. A value cannot move up: only its node's path spells its key.
  u64 only_child() const { return children_ == 1 && !values_ ? child_[0] : 0; }
  bool fits_leaf() const { return foldable_ && pairs_.size() != 0; }
  const Group<Key>& pairs() const { return pairs_; }
  /// Retires the leaves whose pairs were copied into one leaf, `word`.
  template <class Tx>
  void retire_leaves(Tx& tx, u64 word) const {
    if (values_ || !foldable_ || word == only_child()) return;
    for (u32 i = 0; i < children_; ++i) {
      const Child child(child_[i]);
      Leaf* const leaf = child.template as_leaf<Leaf>();
      tx.retire(leaf, leaf->bytes(child.pairs()));
    }
  }

 private:
  static constexpr u32 kMaxFold = Leaf::kMaxPairs / 2 + Leaf::kMaxPairs % 2;
  bool values_ = false, foldable_ = true;
  u32 children_ = 0;
  u64 child_[kMaxChildren] = {};
  Group<Key> pairs_;
};

}  // namespace latchlab::art
