#pragma once
// Lookups of several keys, which descend side by side, level by level. The nodes that all of them need on the next
// level are prefetched together. All leaves are at one level, so all keys take the same number of steps.
#include <algorithm>
#include <span>

#include "indexes/btree/descent.h"
#include "sync/attempt.h"

namespace latchlab::btree {

template <class Layout, class Key>
class SideBySide {
  using Node = btree::Node<Layout>;
  using Descent = btree::Descent<Layout, Key>;
  using Sought = typename Forms<Key>::Sought;

 public:
  /// Sets found[i] to the tree's answer for keys[i]; returns false to restart.
  template <class Tx>
  [[nodiscard]] static bool find(Tx& tx, const Anchor<Layout>* anchor, std::span<const Key> keys,
                                 std::span<Found> found) {
    for (std::size_t first = 0; first < keys.size(); first += kWays) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kWays);
      if (!find_few(tx, anchor, keys.subspan(first, count), found.subspan(first, count))) return false;
    }
    return true;
  }

 private:
  static constexpr u32 kWays = 16;  // so that small nodes keep a core's line buffers busy

  template <class Tx>
  [[nodiscard]] static bool find_few(Tx& tx, const Anchor<Layout>* anchor, std::span<const Key> keys,
                                     std::span<Found> found) {
    typename Descent::template ReaderOf<Tx> at[kWays];
    Sought sought[kWays];
    Node* next[kWays];  // what the previous level led to
    const u64 word = anchor->root.load();
    const Root<Layout> root(word);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      sought[i] = Forms<Key>::sought(keys[i]);
      if (!Descent::enter(tx, anchor, word, at[i])) return false;
    }
    for (u32 level = root.height(); level > 0; --level) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (level != root.height() && !at[i].step_to(next[i])) return false;
        const auto* const node = Descent::inner(at[i]);
        next[i] = node->child(node->child_of(sought[i]));
        if (next[i] == nullptr) return false;
        Descent::prefetch(next[i], level - 1);
      }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (root.height() != 0 && !at[i].step_to(next[i])) return false;
      const Attempt<Found> answer = Descent::answer(tx, at[i], sought[i]);
      if (!answer) return false;
      found[i] = *answer;
    }
    return true;
  }
};

}  // namespace latchlab::btree
