#pragma once
// Lookups of several keys, which descend side by side, level by level. The lines that all of them need on the next
// level are prefetched together. So a batch waits for memory about as often as one lookup does.
#include <span>
#include <utility>

#include "indexes/art/child.h"
#include "indexes/art/descent.h"
#include "indexes/art/node.h"
#include "src/machine/machine.h"

namespace latchlab::art {

template <class Layout, class Key>
class SideBySide {
  using Node = art::Node<Layout, Key>;
  using Descent = art::Descent<Layout, Key>;
  using Way = typename Descent::Way;

 public:
  /// Sets found[i] to the tree's answer for keys[i]; returns false to restart.
  template <class Tx>
  [[nodiscard]] static bool find(Tx& tx, Node* root, std::span<const Key> keys, std::span<Found> found) {
    for (std::size_t first = 0; first < keys.size(); first += kWays) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kWays);
      if (!Few<Tx>(tx, &keys[first], &found[first]).find(root, static_cast<u32>(count))) return false;
    }
    return true;
  }

 private:
  static constexpr u32 kWays = 16;  // about as many lines as a core fetches at once

  /// A lookup of at most kWays keys. Each round takes every key one level further, over lines that the previous round
  /// prefetched.
  template <class Tx>
  class Few {
   public:
    Few(Tx& tx, const Key* keys, Found* found) : tx_(tx), keys_(keys), found_(found) {}

    [[nodiscard]] bool find(Node* root, u32 count) {
      if constexpr (Key::kFixedSize != 0) {
        if (!begin_256(root, count)) return false;
      } else {
        for (u32 i = 0; i < count; ++i) {
          at_[i] = tx_.enter(root);
          depth_[i] = 0;
          if (!look(i)) return false;
        }
      }
      while (ways_ > 0) {
        const u32 round = std::exchange(ways_, 0);
        for (u32 w = 0; w < round; ++w) {  // look() overwrites only entries of further_ that this loop has passed
          const u32 i = further_[w];
          if (!at_[i].step_to(Child(word_[i]).template as_node<Node>())) return false;
          ++depth_[i];
          if (!look(i)) return false;
        }
      }
      for (u32 l = 0; l < leaves_; ++l) {
        Way way;
        way.word = word_[at_leaf_[l]];
        if (!answer(at_leaf_[l], End::kLeaf, way)) return false;
      }
      return true;
    }

   private:
    /// Descends the run of Node256 at the top of the tree (Descent::look_256), with all keys level by level.
    [[gnu::always_inline]] bool begin_256(Node* root, u32 count) {
      for (u32 i = 0; i < count; ++i) {
        if (!look_256<0>(root, i)) return false;
      }
      return level_256<1>(root);
    }
    template <u32 kDepth>
    [[gnu::always_inline]] bool level_256(Node* root) {
      if constexpr (kDepth < Descent::kUnrolled) {
        const u32 round = std::exchange(in_run_, 0);
        for (u32 w = 0; w < round; ++w) {
          const u32 i = run_[w];
          Way way;
          if constexpr (kDepth == 1) way.slot = root->slot_in_256(keys_[i][0]);
          way.word = word_[i];
          const GuessResult arrival = Descent::template go_on_256<kDepth>(tx_, at_[i], way);
          if (arrival == GuessResult::kChanged) return false;
          if (arrival == GuessResult::kGuessed) [[likely]] {
            if (!look_256<kDepth>(root, i)) return false;
          } else {
            depth_[i] = kDepth;
            if (!look(i)) return false;
          }
        }
        return level_256<kDepth + 1>(root);
      }
      return true;
    }
    template <u32 kDepth>
    [[gnu::always_inline]] bool look_256(Node* root, u32 i) {
      Way way;
      const End end = Descent::template look_256<kDepth>(tx_, root, keys_[i], at_[i], way);
      word_[i] = way.word;
      const Child child(way.word);
      if (end == End::kLeaf) {
        to_leaf(i, child);
      } else if (end != End::kFurther) {
        return answer(i, end, way);
      } else if constexpr (kDepth + 1 < Descent::kUnrolled) {
        Layout::Machine::prefetch(child.line(), Access::kRead);
        Layout::Machine::prefetch(child.template as_node<Node>()->slot_in_256(keys_[i][kDepth + 1]), Access::kRead);
        run_[in_run_++] = i;
      } else {
        depth_[i] = kDepth;
        to_node(i, child);
      }
      return true;
    }

    [[gnu::always_inline]] bool look(u32 i) {
      Way way;
      const End end = Descent::look(at_[i], keys_[i], depth_[i], way);
      word_[i] = way.word;
      if (end == End::kFurther) {
        to_node(i, Child(way.word));
      } else if (end == End::kLeaf) {
        to_leaf(i, Child(way.word));
      } else {
        return answer(i, end, way);
      }
      return true;
    }
    [[gnu::always_inline]] void to_node(u32 i, Child node) {
      Node::prefetch_start(node);
      further_[ways_++] = i;
    }
    [[gnu::always_inline]] void to_leaf(u32 i, Child leaf) {
      Layout::Machine::prefetch(leaf.line(), Access::kRead);
      at_leaf_[leaves_++] = i;
    }
    [[gnu::always_inline]] bool answer(u32 i, End end, const Way& way) {
      const Attempt<Found> answered = Descent::answer(tx_, end, keys_[i], at_[i], way);
      if (answered) found_[i] = *answered;
      return static_cast<bool>(answered);
    }

    Tx& tx_;
    const Key* const keys_;
    Found* const found_;
    typename Descent::template ReaderOf<Tx> at_[kWays];
    u64 word_[kWays];  // the word that `at_` has for the key: of a node, or of a leaf
    u32 depth_[kWays];
    // The keys that are in the run of Node256, that have a node to step to below it, and that have reached their leaf.
    u32 run_[kWays], further_[kWays], at_leaf_[kWays];
    u32 in_run_ = 0, ways_ = 0, leaves_ = 0;
  };
};

}  // namespace latchlab::art
