#pragma once
// Erasures that make the tree smaller. There are two, and one erasure makes one of them at most:
//
//   unlink   the last key of a leaf goes. Then the leaf goes too, and with it each node above of which it is the only
//            child. Its range falls to a neighbour, whose node need not be locked (descent.h, lemma 3)
//   merge    the lowest node on the path that is sparse is merged with a neighbour under the same parent, if both fit
//            into three quarters of a node. Entries move to the left, and the right node is retired
//
// A root that is left with one child goes. So do the nodes below it that have one child, too.
//
// The first leaf is a member of the tree and stays. So it is the only one that may be empty.
#include <span>

#include "indexes/btree/descent.h"
#include "indexes/btree/node.h"
#include "indexes/btree/path.h"
#include "indexes/btree/seeded_bugs.h"
#include "sync/attempt.h"

namespace latchlab::btree {

template <class Layout, class Key, class Tx>
class Shrink {
  using Node = btree::Node<Layout>;
  using Inner = btree::Inner<Layout, Key>;
  using Leaf = btree::Leaf<Layout, Key>;
  using Descent = btree::Descent<Layout, Key>;
  using Path = btree::Path<Layout, Key, Tx>;
  using Reader = typename Path::Reader;
  using Forms = btree::Forms<Key>;
  using Sought = typename Forms::Sought;
  static constexpr u32 kMostNodes = Sizes<Layout, Key>::kMostNodes;

 public:
  Shrink(Tx& tx, Anchor<Layout>* anchor) : tx_(tx), anchor_(anchor) {}

  /// Erases a key from a sparse leaf that is not the root, if its value is wanted.
  Attempt<bool> erase(const Leaf* first, const Sought& key, const auto& wanted) {
    if (!path_.descend(tx_, anchor_, key)) return kRestart;
    Leaf* const leaf = Descent::leaf(path_.back());
    const auto* const value = leaf->find(key);
    // The caller has asked whether the value is wanted. So this attempt must not find the key absent.
    if (value == nullptr) return kRestart;
    if (!wanted.fits(*value)) return tx_.confirm(false, path_.back());
    const u32 last = path_.nodes() - 1;
    if (leaf->entries() == 1 && leaf != first) return unlink();
    for (u32 i = last; i > 1 && sparse(i, last); --i) {
      if (Descent::inner(path_[i - 1])->keys() == 0) continue;  // it has no neighbour
      if (!choose_neighbour(i)) return kRestart;
      if (fit(i == last)) return merge(i, key);
    }
    if (!tx_.upgrade(path_.back())) return kRestart;
    Forms::retire(tx_, leaf->remove(key));
    return true;
  }

 private:
  bool sparse(u32 i, u32 last) const {
    return i == last ? Descent::leaf(path_[i])->sparse() : Descent::inner(path_[i])->sparse();
  }

  /// Sets left_ and right_ to node i of the path and a neighbour of it, and between_ to the number of the key between.
  [[nodiscard]] bool choose_neighbour(u32 i) {
    const u32 number = path_.child_of(i - 1);
    const bool is_first = number == 0;
    between_ = is_first ? 0 : number - 1;
    Reader neighbour = path_[i - 1];
    Node* const node = Descent::inner(neighbour)->child(is_first ? 1 : number - 1);
    if (node == nullptr || !neighbour.step_to(node)) return false;
    left_ = is_first ? path_[i] : neighbour;
    right_ = is_first ? neighbour : path_[i];
    return true;
  }
  /// Returns true if the content of left_ and right_ fits into three quarters of a node.
  bool fit(bool leaves) const {
    if (leaves) return Descent::leaf(left_)->entries() + Descent::leaf(right_)->entries() <= Leaf::kMost * 3 / 4;
    return Descent::inner(left_)->keys() + Descent::inner(right_)->keys() + 1 <= Inner::kMost * 3 / 4;
  }

  /// Removes the key from its leaf, and merges left_ and right_, of which one is node i of the path.
  Attempt<bool> merge(u32 i, const Sought& key) {
    Inner* const parent = Descent::inner(path_[i - 1]);
    const bool leaves = i + 1 == path_.nodes();
    const bool collapses = i == 2 && parent->keys() == 1;
    name(path_.back());
    name(path_[i - 1]);
    name(left_);
    if (!Bugs::kDropRight) name(right_);
    if (collapses) name(path_[0]);
    if (!upgrade()) return kRestart;
    Forms::retire(tx_, Descent::leaf(path_.back())->remove(key));
    if (leaves) {
      Descent::leaf(left_)->merge(*Descent::leaf(right_));
      Forms::retire(tx_, parent->key(between_));
    } else {
      Descent::inner(left_)->merge(parent->key(between_), *Descent::inner(right_));
    }
    retire(right_);
    if (collapses) {
      anchor_->root.store(Root<Layout>(left_.node(), path_.nodes() - 3).word());
      retire(path_[1]);
    } else {
      parent->remove_child(between_ + 1);
    }
    return true;
  }

  /// Unlinks the leaf and the nodes above it of which it is the only child.
  Attempt<bool> unlink() {
    u32 top = path_.nodes() - 2;  // the node that keeps other children
    while (top > 0 && Descent::inner(path_[top])->keys() == 0) --top;
    if (top == 0) return kRestart;  // read in the middle of a change: the only leaf is the first
    Inner* const parent = Descent::inner(path_[top]);
    for (u32 i = top; i < path_.nodes(); ++i) name(path_[i]);
    if (top == 1 && parent->keys() == 1) return collapse();
    if (!upgrade()) return kRestart;
    retire_last_key();
    Forms::retire(tx_, parent->remove_child(path_.child_of(top)));
    for (u32 i = top + 1; i < path_.nodes(); ++i) retire(path_[i]);
    return true;
  }
  /// Does the same where the root is left with one child. All nodes of the path are named.
  Attempt<bool> collapse() {
    u32 level = path_.nodes() - 3;
    Reader root = path_[1];
    Node* const other = Descent::inner(root)->child(path_.child_of(1) == 0 ? 1 : 0);
    if (other == nullptr || !root.step_to(other)) return kRestart;
    // Two places are left, for the new root and the anchor.
    for (; level > 0 && Descent::inner(root)->keys() == 0 && named_ + 2 < kMostNodes; --level) {
      name(root);
      Node* const child = Descent::inner(root)->child(0);
      if (child == nullptr || !root.step_to(child)) return kRestart;
    }
    const u32 gone = named_;
    name(root);  // so that no other thread leaves the new root with one child
    name(path_[0]);
    if (!upgrade()) return kRestart;
    retire_last_key();
    Forms::retire(tx_, Descent::inner(path_[1])->key(0));
    anchor_->root.store(Root<Layout>(root.node(), level).word());
    for (u32 i = 0; i < gone; ++i) retire(changed_[i]);
    return true;
  }

  /// Retires the key of a leaf that has no other.
  void retire_last_key() { Forms::retire(tx_, Descent::leaf(path_.back())->key_at(0)); }
  void name(const Reader& reader) { changed_[named_++] = reader; }
  [[nodiscard]] bool upgrade() { return tx_.upgrade(std::span<const Reader>(changed_, named_)); }
  void retire(const Reader& reader) {
    static_assert(sizeof(Inner) == sizeof(Leaf));
    tx_.retire(reader.node(), sizeof(Leaf));
  }

  using Bugs = BugFlags<typename Layout::Bugs::Flag>;

  Tx& tx_;
  Anchor<Layout>* const anchor_;
  Path path_;
  Reader left_, right_;
  u32 between_ = 0;
  // The nodes that will be changed or unlinked: all of a way, and a new root beside it.
  Reader changed_[kMostNodes + 1];
  u32 named_ = 0;
};

}  // namespace latchlab::btree
