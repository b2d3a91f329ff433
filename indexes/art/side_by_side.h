#pragma once
// Lookups of several keys whose ways go down side by side, a level at a time: what the next level reads of all of them is
// fetched together, so that a batch waits for memory about as often as one key does.
#include <span>
#include <utility>

#include "indexes/art/child.h"
#include "indexes/art/descent.h"
#include "indexes/art/node.h"
#include "src/arch/prefetch.h"

namespace latchlab::art {

template <class Layout, class Key>
class SideBySide {
  using Node = art::Node<Layout, Key>;
  using Descent = art::Descent<Layout, Key>;
  using Found = typename Descent::Found;
  using Way = typename Descent::Way;

 public:
  /// found[i] becomes what the tree has for keys[i]; false: restart.
  template <class Tx>
  [[nodiscard]] static bool find(Tx& tx, Node* root, std::span<const Key> keys, std::span<Found> found) {
    for (std::size_t first = 0; first < keys.size(); first += kWays) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kWays);
      if (!find_few(tx, root, &keys[first], static_cast<u32>(count), &found[first])) return false;
    }
    return true;
  }

 private:
  static constexpr u32 kWays = 16;   // about as many lines as a core fetches at once

  /// At most kWays keys. Each round takes every way a level further, over lines that the round before has asked for.
  template <class Tx>
  [[nodiscard]] static bool find_few(Tx& tx, Node* root, const Key* keys, u32 count, Found* found) {
    typename Descent::template ReaderOf<Tx> at[kWays];
    u64 word[kWays];   // that `at` has for the key: of a node, or of a leaf
    u32 depth[kWays];
    u8 further[kWays], at_leaf[kWays];   // which have a node to step to, and which have found their leaf
    u32 ways = 0, leaves = 0;
    const auto answer = [&](u32 i, End end, const Way& way) {
      const Attempt<Found> answered = Descent::answer(tx, end, keys[i], at[i], way);
      if (answered) found[i] = *answered;
      return static_cast<bool>(answered);
    };
    const auto look = [&](u32 i) __attribute__((always_inline)) {
      Way way;
      const End end = Descent::look(at[i], keys[i], depth[i], way);
      word[i] = way.word;
      if (end == End::kFurther) {
        prefetch_next(*at[i].node(), Child(way.word), depth[i] + 1, keys[i]);
        further[ways++] = static_cast<u8>(i);
      } else if (end == End::kLeaf) {
        prefetch_read(Child(way.word).line());
        at_leaf[leaves++] = static_cast<u8>(i);
      } else {
        return answer(i, end, way);
      }
      return true;
    };
    for (u32 i = 0; i < count; ++i) {
      at[i] = tx.enter(root);
      depth[i] = 0;
      if (!look(i)) return false;
    }
    while (ways > 0) {
      const u32 round = std::exchange(ways, 0);
      for (u32 w = 0; w < round; ++w) {   // looking adds to the places that were left behind
        const u32 i = further[w];
        if (!at[i].step_to(Child(word[i]).template as_node<Node>())) return false;
        ++depth[i];
        if (!look(i)) return false;
      }
    }
    for (u32 l = 0; l < leaves; ++l) {
      Way way;
      way.word = word[at_leaf[l]];
      if (!answer(at_leaf[l], End::kLeaf, way)) return false;
    }
    return true;
  }

  /// Asks for what a look reads of a child at `depth`: below a Node256 of the first levels that is mostly another one.
  [[gnu::always_inline]] static void prefetch_next(const Node& parent, Child child, u32 depth, const Key& key) {
    if (depth < Descent::kUnrolled - 1 && parent.kind() == Kind::k256) {
      prefetch_read(child.line());
      prefetch_read(child.template as_node<Node>()->slot_in_256(key[depth]));
    } else {
      Node::prefetch_start(child);
    }
  }
};

}  // namespace latchlab::art
