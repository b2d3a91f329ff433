#pragma once
// The descent of a key: from the root to the place where the tree holds the key, or would hold it.

#include "indexes/art/child.h"
#include "indexes/art/leaf.h"
#include "indexes/art/node.h"
#include "indexes/art/path.h"
#include "src/arch/opaque.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::art {

/// The end of a key's descent.
///   kNone         the node has no slot for the key's byte
///   kFreeSlot     the slot, in a Node256 at the top of the tree, is empty
///   kValue        the slot holds a value
///   kLeaf         the slot holds a leaf
///   kPathDiffers  the node's path differs from the key
///   kChanged      a node changed meanwhile: restart
///   kFurther      the descent has not ended: a child must be visited
enum class End : u8 { kNone, kFreeSlot, kValue, kLeaf, kPathDiffers, kChanged, kFurther };

template <class Layout, class Key>
class Descent {
  using Node = art::Node<Layout, Key>;
  using Slot = typename Layout::template Cell<u64>;
  using Leaf = art::Leaf<Layout, Key>;
  using Path = art::Path<Key>;

 public:
  template <class Tx>
  using ReaderOf = typename Tx::template Reader<Node>;

  static constexpr u32 kUnrolled = 4;  // levels guessed to be Node256; from about 10^9 keys on all four are
  /// True if nodes may skip bytes. A path holds fixed-size keys whole, so their bytes are never skipped.
  static constexpr bool kMaySkip = Key::kFixedSize == 0;

  struct Way {
    const Slot* slot = nullptr;  // where the descent ended: for kValue, kLeaf, kFreeSlot
    u64 word = 0;                // the content of the slot
    bool skipped = false;        // true if some compressed bytes, which only a leaf holds, were not compared
  };

  /// Descends to the end of the key's way down. `at` becomes the last node, `parent` its parent, and `way` the slot.
  /// The level of a node is guessed from the depth and compared, not loaded. So the slot's line is fetched without
  /// waiting for the header's line. `parent` is a reader of the root at first, or std::ignore if the caller does not
  /// need it.
  template <class Tx, class Parent>
  [[gnu::always_inline]] static End descend(Tx& tx, Node* root, const Key& key, Parent& parent, ReaderOf<Tx>& at,
                                            Way& way) {
    u32 depth = 0;
    if constexpr (Key::kFixedSize != 0) {
      if (const End end = descend_256<0>(tx, root, key, parent, at, way, depth); end != End::kFurther) return end;
    } else {
      at = tx.enter(root);
    }
    for (;; ++depth) {
      if (const End end = look(at, key, depth, way); end != End::kFurther) return end;
      parent = at;
      if (!at.step_to(Child(way.word).template as_node<Node>())) return End::kChanged;
    }
  }

  /// Looks the key up in `at`, a node below `depth` bytes of the key. Sets `depth` to the node's level. kFurther:
  /// way.word leads to the next node.
  template <class Reader>
  [[gnu::always_inline]] static End look(const Reader& at, const Key& key, u32& depth, Way& way) {
    if (at->level() != opaque(depth)) [[unlikely]] {
      if (!at->path().matches(key)) return End::kPathDiffers;
      if constexpr (kMaySkip) way.skipped |= at->level() > depth + Path::kStored;
      depth = at->level();
    }
    way.slot = at->find_at(depth, key[depth], way.word);
    if (way.slot == nullptr) return End::kNone;
    if constexpr (Key::kFixedSize != 0) {
      if (depth + 1 == Key::kFixedSize) return End::kValue;
    }
    return Child(way.word).is_leaf() ? End::kLeaf : End::kFurther;
  }

  /// Follows the key down kNodes nodes and prefetches what comes next, a node or a leaf. Waits only for lines of those
  /// nodes. Gives up where a node changes meanwhile.
  template <u32 kNodes, class Tx>
  [[gnu::always_inline]] static void prefetch_below(Tx& tx, Node* root, const Key& key) {
    using Machine = typename Layout::Machine;
    ReaderOf<Tx> at = tx.enter(root);
    u32 depth = 0;
    for (u32 nodes = 1;; ++nodes, ++depth) {
      Way way;
      const End end = look(at, key, depth, way);
      const Child child(way.word);
      if (end == End::kLeaf) return Machine::prefetch(child.line(), Access::kRead);
      if (end != End::kFurther) return;
      if (nodes < kNodes) {
        if (!at.step_to(child.template as_node<Node>())) return;
      } else if (Key::kFixedSize != 0 && depth + 1 < kUnrolled) {
        Machine::prefetch(child.line(), Access::kRead);
        return Machine::prefetch(child.template as_node<Node>()->slot_in_256(key[depth + 1]), Access::kRead);
      } else {
        return Node::prefetch_start(child);
      }
    }
  }

  /// Returns the answer of a lookup whose descent ended with `end`.
  template <class Tx, class Reader>
  [[gnu::always_inline]] static Attempt<Found> answer(Tx& tx, End end, const Key& key, const Reader& at,
                                                      const Way& way) {
    if (end == End::kLeaf) {
      const auto* const value = Leaf::find(Child(way.word), key);
      if (value == nullptr) return tx.confirm(Found(), at);
      return tx.confirm(Found(value->load()), at);
    }
    if (end == End::kChanged) return kRestart;
    if (end == End::kValue) return tx.confirm(Found(way.word), at);
    return tx.confirm(Found(), at);
  }

  /// Looks the key up in one node of the run of Node256 at the top of the tree. The node is `at` at kDepth, or the
  /// root. The root is entered only if the descent ends there. kFurther: way.word leads to the next node.
  template <u32 kDepth, class Tx>
  [[gnu::always_inline]] static End look_256(Tx& tx, Node* root, const Key& key, ReaderOf<Tx>& at, Way& way) {
    way.slot = (kDepth == 0 ? root : at.node())->slot_in_256(key[kDepth]);
    way.word = way.slot->load();
    const Child child(way.word);
    if (child && !child.is_leaf()) return End::kFurther;
    if constexpr (kDepth == 0) {
      constexpr u8 kTag = Path::tag_of(Kind::k256, 0);
      if (tx.enter_by(at, root, kTag, *way.slot, way.word) == GuessResult::kChanged) return End::kChanged;
    }
    return child ? End::kLeaf : End::kFreeSlot;
  }

  /// Steps to the node that way.word leads to, at kDepth, and says whether it belongs to the run. The root is never
  /// replaced, so its slot alone proves the first step.
  template <u32 kDepth, class Tx>
  [[gnu::always_inline]] static GuessResult go_on_256(Tx& tx, ReaderOf<Tx>& at, const Way& way) {
    constexpr u8 kGuess = Path::tag_of(Kind::k256, kDepth);
    Node* const node = Child(way.word).template as_node<Node>();
    if constexpr (kDepth == 1) return tx.enter_by(at, node, kGuess, *way.slot, way.word);
    return at.step_to(node, kGuess);
  }

 private:
  /// Descends the run of Node256 at the top of the tree, one on each level, of which the root is the first. The
  /// recursion is unrolled, so that levels and shifts are constants. The fewer instructions a lookup has, the more
  /// cache misses of different lookups overlap. kFurther: the descent goes on at `depth`.
  template <u32 kDepth, class Tx, class Parent>
  [[gnu::always_inline]] static End descend_256(Tx& tx, Node* root, const Key& key, Parent& parent, ReaderOf<Tx>& at,
                                                Way& way, u32& depth) {
    if (const End end = look_256<kDepth>(tx, root, key, at, way); end != End::kFurther) return end;
    if constexpr (kDepth != 0) parent = at;
    const GuessResult arrival = go_on_256<kDepth + 1>(tx, at, way);
    if (arrival == GuessResult::kChanged) return End::kChanged;
    if constexpr (kDepth + 1 < kUnrolled) {
      if (arrival == GuessResult::kGuessed) [[likely]]
        return descend_256<kDepth + 1>(tx, root, key, parent, at, way, depth);
    }
    depth = kDepth + 1;
    return End::kFurther;
  }
};

}  // namespace latchlab::art
