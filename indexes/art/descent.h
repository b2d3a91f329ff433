#pragma once
// The way of a key down the tree: from the root to where the tree says what it has for the key.

#include "indexes/art/child.h"
#include "indexes/art/leaf.h"
#include "indexes/art/node.h"
#include "indexes/art/path.h"
#include "src/arch/opaque.h"
#include "sync/attempt.h"

namespace latchlab::art {

/// How the way of a key ends. kFreeSlot: at none, in a Node256 of the run; kChanged: restart; kFurther: not here, but
/// at a node that was not looked at.
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

  static constexpr u32 kUnrolled = 4;  // levels that are guessed to be Node256: all four are so from some 10^9 keys on
  /// Fixed-size keys are short enough for a path to hold them whole: nothing is ever skipped.
  static constexpr bool kMaySkip = Key::kFixedSize == 0;

  struct Way {
    const Slot* slot = nullptr;  // of kValue, kLeaf, kFreeSlot
    u64 word = 0;                // in it
    bool skipped = false;        // compressed bytes that only a leaf knows were not compared
  };

  /// Where the key's way ends: at a slot without a word, a value or a leaf in the slot of `at`, or because `at`, below
  /// `parent`, has another path. The level of a node is guessed from the depth that was come to and compared rather
  /// than loaded, so that the slot's line is fetched without waiting for the header's. `parent` begins as a reader of
  /// the root, or is std::ignore for who does not ask for it.
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

  /// What `at`, a node below `depth` bytes of the key's way, has for the key. kFurther: the node that way.word leads
  /// to. `depth` becomes its level.
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

  /// What the end of a key's way says about it.
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

  /// What a node of the run of Node256 with which a tree begins has for the key: the one at kDepth, which is `at`, or
  /// the root, which is not entered unless the way ends there. kFurther: the node that way.word leads to.
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

  /// Goes on to that node, at kDepth, and says whether it is in the run. The root is never replaced, so its slot alone
  /// proves the first step.
  template <u32 kDepth, class Tx>
  [[gnu::always_inline]] static GuessResult go_on_256(Tx& tx, ReaderOf<Tx>& at, const Way& way) {
    constexpr u8 kGuess = Path::tag_of(Kind::k256, kDepth);
    Node* const node = Child(way.word).template as_node<Node>();
    if constexpr (kDepth == 1) return tx.enter_by(at, node, kGuess, *way.slot, way.word);
    return at.step_to(node, kGuess);
  }

 private:
  /// The run of Node256, one on each level, with which a tree begins (the root is one); unrolled, so that levels and
  /// shifts are constants. The fewer instructions a lookup has, the more lookups' cache misses overlap. kFurther: the
  /// way goes on at `depth`.
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
