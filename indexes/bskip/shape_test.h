#pragma once
// Checks the nodes of a B-skiplist that no thread is changing.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "indexes/bskip/bskip.h"
#include "sync/version_latch.h"

namespace latchlab::testing {

/// The nodes and pairs of a B-skiplist, and the first thing that is wrong with them.
struct SkipShape {
  u32 pairs = 0, top = 0;
  std::array<u32, 8> nodes{};  // on each level, with the first
  std::string complaint;
};

template <class PlainLayout, class Key>
class SkipShapeOf {
  using Layout = btree::SizedLayout<PlainLayout, bskip::kNodeBytes>;
  using Heads = bskip::Heads<Layout, Key>;
  using Node = bskip::Node<Layout, Key>;
  using Inner = bskip::Inner<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  using Levels = bskip::Levels<Layout>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;

 public:
  /// Checks that the keys of each level ascend, across all nodes; that a bound is the least key of the next node; that
  /// a key is on the levels that its height says, begins a node below the highest, and leads to that node; that only
  /// the first node of a level may be empty; that unused places are empty, and that no latch is left.
  static SkipShape of(const BSkip<PlainLayout, Key>& index) {
    SkipShapeOf shape(index.heads());
    for (u32 level = 0; level < Levels::kLevels; ++level) shape.visit(level);
    return shape.shape_;
  }

 private:
  static constexpr u32 kMostNodes = 1'000'000;

  explicit SkipShapeOf(Heads& heads) : heads_(heads) { shape_.top = heads.top(); }

  static bool less(Kept a, Kept b) { return Forms::less_than(Forms::sought(a), Forms::sought(b)); }
  static bool same(Kept a, Kept b) {
    if constexpr (Key::kFixedSize != 0) {
      return a == b;
    } else {
      return a.head == b.head && a.record == b.record;  // a key has one record
    }
  }
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

  void visit(u32 level) {
    const auto led_to = std::exchange(leads_to_, {});  // by the level below: what must be here
    keys_.clear();
    std::vector<std::pair<Kept, Node*>> here;
    Node* const first = heads_.node(level);
    Kept least{};
    for (Node* node = first; node != nullptr; least = node->bound(), node = node->next()) {
      if (++shape_.nodes[level] == kMostNodes) return complain("a level does not end");
      if constexpr (requires { node->latch.word(); }) {
        if (node->latch.locked(node->latch.word())) complain("a latch is left");
      }
      const bool begins = node != first;
      if (level == 0) {
        visit_leaf(*static_cast<Leaf*>(node), begins);
        if (begins && (keys_of_node_ == 0 || !same(keys_[keys_.size() - keys_of_node_], least)))
          complain("a leaf does not begin with the bound of its left neighbour");
      } else {
        visit_inner(*static_cast<Inner*>(node), level, begins ? &least : nullptr, here);
      }
      for (u32 i = 0; i < keys_of_node_; ++i) {
        const u32 height = Levels::height(Forms::sought(keys_[keys_.size() - keys_of_node_ + i]));
        if (height < level) complain("a key is higher than its height");
        if (height > level && (i != 0 || !begins)) complain("a key begins no node on a level below its height");
      }
      if (begins && Levels::height(Forms::sought(least)) > level) leads_to_.emplace_back(least, node);
    }
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      if (!less(keys_[i - 1], keys_[i])) complain("the keys of a level do not ascend");
    }
    if (level == 0) shape_.pairs = static_cast<u32>(keys_.size());
    if (level > shape_.top && !keys_.empty()) complain("a level above the top has keys");
    if (level > 0) compare(led_to, here);
  }
  /// Compares the keys that begin nodes of the level below with those of this level.
  void compare(const std::vector<std::pair<Kept, Node*>>& below, const std::vector<std::pair<Kept, Node*>>& here) {
    if (below.size() != here.size()) return complain("a level has other keys than the level below says");
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (!same(below[i].first, here[i].first)) return complain("a key is not on the level below");
      if (below[i].second != here[i].second) return complain("a key does not lead to the node that it begins");
    }
  }

  void visit_leaf(const Leaf& leaf, bool begins) {
    keys_of_node_ = leaf.entries();
    if (!begins && keys_of_node_ == Leaf::kMost) complain("the first leaf keeps no place free");
    for (u32 rank = 0; rank < keys_of_node_; ++rank) keys_.push_back(leaf.key_at(rank));
    for (u32 rank = keys_of_node_; rank < Leaf::kMost; ++rank) {
      if (!empty(leaf.key_at(rank))) complain("an unused key is left");
    }
  }
  void visit_inner(const Inner& node, u32 level, const Kept* least, std::vector<std::pair<Kept, Node*>>& here) {
    if (least == nullptr && node.child(0) != heads_.node(level - 1)) complain("a first node does not lead to the next");
    if (least != nullptr) here.emplace_back(*least, node.child(0));
    for (u32 i = 0; i < node.keys(); ++i) here.emplace_back(node.key(i), node.child(i + 1));
    keys_of_node_ = node.keys() + (least != nullptr);
    for (std::size_t i = here.size() - keys_of_node_; i < here.size(); ++i) keys_.push_back(here[i].first);
    for (u32 i = node.keys(); i < Inner::kMost; ++i) {
      if (!empty(node.key(i)) || node.child(i + 1) != nullptr) complain("an unused child is left");
    }
  }

  Heads& heads_;
  SkipShape shape_;
  std::vector<Kept> keys_;  // of the level
  u32 keys_of_node_ = 0;
  std::vector<std::pair<Kept, Node*>> leads_to_;  // the keys that must be on the level above, and the nodes they begin
};

/// A policy for a B-skiplist whose nodes a test can reach.
template <class P>
struct SkipCase {
  using Policy = P;

  /// There must be one of its type at a time.
  template <class Layout, class Key>
  struct Tree : BSkip<Layout, Key> {
    explicit Tree(const auto&...) { seen = this; }
    static inline const Tree* seen = nullptr;
  };

  /// Returns the shape of the index that was made last for this kind of keys.
  template <class Key>
  static SkipShape shape() {
    using Layout = typename P::Layout;
    return SkipShapeOf<Layout, Key>::of(*Tree<Layout, Key>::seen);
  }
};

}  // namespace latchlab::testing
