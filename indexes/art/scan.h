#pragma once
// A scan of ART, one batch of pairs at a time, each batch one run of a body.
//
// A run walks down to the first key, goes on from node to node in order, and ends when the batch is full. The
// way back up is a trail of readers: nodes that were left for a child, each with the version under which it
// was entered and the byte at which to go on.
//
// Why nothing that stays is missed, under an optimistic transaction. A reader's validation proves all that
// was read through it so far; leaving a node, by a step to a child or by the confirm when it has no more,
// validates it.
//   1. A reader whose version still holds reads a linked node: the step that came to it proved that it was
//      linked when its version was read, and unlinking changes the version of what is unlinked.
//   2. All keys that begin with the path of a linked node are below it, and below the slot of their next
//      byte. This holds even if the nodes above it have been replaced meanwhile: whatever takes their place
//      leads to the same node.
//   3. So a node that was validated has shown every key that stayed: its entries, and the bytes between them
//      that have none, are those of one moment. By induction so have the nodes below, each at a moment of its
//      own.
//   4. A node from the trail is entered again with its old version: what is read of it now counts only if
//      that version still holds. Where it does not, the run keeps the pairs up to the last proof, and the
//      next run begins after them, from the root. Nothing is skipped, for nothing was said about what lies
//      beyond the last proven pair.
//
// What that makes of a batch: a node's own pairs, in its leaves or slots, are of one moment even where a
// child's pairs come between them. Pairs of different nodes are of different moments, and there may be none
// at which all were there.
//
// Under a transaction that validates nothing (rowex) it is because of what nodes promise to readers without a
// latch (node.h), and the claim about a batch is weaker: every pair is of a moment of its own, even in one leaf.
//   1. A node that was come to was linked at some moment of the run: when the slot that led there was read, or
//      when the node with that slot was unlinked, which came after the run had come to it.
//   2. It is read as it is or, once it is unlinked, as it was then. Either is a state of the tree during the
//      run, in which (as above) all keys with its path are below it.
//   3. Bytes are asked for in order, each was seen or missed at one moment, and a byte below which a key stays
//      never goes. So nothing that stayed is missed, and what was taken was there.
// One thing is lost: a node need not show any pair at all, where they come and go beside the run. A trail that
// has forgotten a node and found nothing since can not tell that this is the end, and the run begins again.
//
// Cost: a validation for each node, each leaf and each return to a node; O(depth) a batch to begin.
#include <memory>

#include "indexes/art/batch.h"
#include "indexes/art/child.h"
#include "indexes/art/leaf.h"
#include "indexes/art/node.h"
#include "indexes/art/path.h"
#include "sync/attempt.h"

namespace latchlab::art {

/// A u64 key has seven nodes above the deepest; a byte string may have any number.
inline constexpr u32 kTrailPlaces = 8;

/// The way back up: the deepest nodes that were left for a child, and where to go on in each. At most kMost;
/// what is further up is forgotten.
template <class Reader>
class Trail {
 public:
  static constexpr u32 kMost = kTrailPlaces;
  struct Place {
    Reader at;
    u32 byte;
  };

  Trail() {}
  bool empty() const { return size_ == 0; }
  bool forgot() const { return forgot_; }
  void push(const Reader& at, u32 byte) {
    std::construct_at(&place_[top_++ % kMost], Place{at, byte});
    forgot_ |= size_ == kMost;
    size_ += size_ < kMost;
  }
  Place pop() {
    --size_;
    return place_[--top_ % kMost];
  }

 private:
  u32 top_ = 0, size_ = 0;
  bool forgot_ = false;
  union {
    Place place_[kMost];  // the last size_ before top_, in a ring: readers have no empty state
  };
};

template <class Layout, class Key>
class Scan {
 public:
  using Node = art::Node<Layout, Key>;
  using Leaf = art::Leaf<Layout, Key>;
  using Batch = art::Batch<Key>;

  /// Collects the next pairs of a scan into `batch` (cleared first): the smallest keys from `from` on, or
  /// after it; true. None only if there are none. At most `wanted` and what else is in the last one's leaf;
  /// as a rule no fewer, unless the batch is full, but changes beside it or a deep tree may end it early.
  template <class Tx>
  static Attempt<bool> gather(Tx& tx, Node* root, const Key& from, bool after, std::size_t wanted, Batch& batch) {
    batch.clear(wanted);
    auto at = tx.enter(root);
    Trail<decltype(at)> trail;
    u32 proven = 0;       // pairs up to the last proof
    bool bounded = true;  // `at` is on the path of `from`, so that keys below it may be smaller
    for (u32 byte = from[0];;) {
      Entry entry;
      if (!at->next(byte, entry)) {
        if (!tx.confirm(true, at)) return cut(batch, proven);
        if (trail.empty()) {  // the end of all keys or, after a pair, of what it remembers
          if (batch.empty() && trail.forgot()) [[unlikely]]
            return kRestart;  // its pairs went meanwhile
          return true;
        }
        proven = batch.size();
        const auto back = trail.pop();
        at = back.at;
        byte = back.byte;
        bounded = false;
        continue;
      }
      const bool on_path = bounded && entry.byte == from[at->level()];
      if (at->holds_values()) {
        if constexpr (Key::kFixedSize != 0) {
          if (!(on_path && after)) batch.push(at->path().with_last(entry.byte), entry.word, batch.size());
        }
      } else if (const Child child(entry.word); child.is_leaf()) {
        if (!at.follow(child.template as_leaf<Leaf>())) return cut(batch, proven);
        if (!take(child, on_path ? &from : nullptr, after, batch)) return end(tx, at, batch, proven);
      } else {
        // Where a trail may forget, what it forgets must come after a pair. Below a node there is one, except
        // on the path of `from`: there a node is remembered only if it has something beyond the child.
        Entry beyond;
        if (kForgetsNothing || !on_path || at->next(entry.byte + 1u, beyond)) trail.push(at, entry.byte + 1u);
        const u32 agreed = at->level() + 1;
        // The children of other kinds were prefetched together.
        Child sibling(0);
        if (!on_path && at->kind() == Kind::k256 && at->next(entry.byte + 1u, beyond)) {
          sibling = Child(beyond.word);
        }
        if (!at.step_to(child.template as_node<Node>())) return cut(batch, proven);
        proven = batch.size();
        if (!on_path && !at->holds_values()) at->prefetch_children();
        if (sibling) Node::prefetch_start(sibling);
        bounded = false;
        byte = 0;
        if (on_path) {
          const Attempt<int> order = compare(at, from, agreed);
          if (!order) return order.failure();
          if (*order == 0) {
            bounded = true;
            byte = from[at->level()];
          } else if (*order < 0) {
            byte = 256;  // all below is smaller: nothing from here on
          }
        }
        continue;
      }
      if (batch.full()) return end(tx, at, batch, proven);
      byte = entry.byte + 1u;
    }
  }

  /// Some key below, whose bytes up to the level are the path. Fixed bytes: good for as long as the leaf is.
  template <class Reader>
  static Attempt<Key> any_key(Reader at) {
    for (;;) {
      Entry entry;
      // Unlinked and empty, or its children came and went beside a reader without a latch.
      if (!at->next(0, entry)) return kRestart;
      const Child child(entry.word);
      if (child.is_leaf()) {
        if (!at.follow(child.template as_leaf<Leaf>())) return kRestart;
        return child.template as_leaf<Leaf>()->key(0);
      }
      if (!at.step_to(child.template as_node<Node>())) return kRestart;
    }
  }

 private:
  static constexpr bool kForgetsNothing = Key::kFixedSize != 0 && Key::kFixedSize <= kTrailPlaces;

  /// The run ends in `at`: with all that was gathered, or with what was proven before.
  template <class Tx, class Reader>
  static Attempt<bool> end(Tx& tx, const Reader& at, Batch& batch, u32 proven) {
    if (!tx.confirm(true, at)) return cut(batch, proven);
    return true;
  }
  /// Something has changed: the run ends with what was proven before, if that is anything.
  static Attempt<bool> cut(Batch& batch, u32 proven) {
    if (proven == 0) return kRestart;
    batch.truncate(proven);
    return true;
  }

  /// The path of `at` against the key's first bytes, of which `agreed` are known to be the same: negative,
  /// zero, positive.
  template <class Reader>
  static Attempt<int> compare(const Reader& at, const Key& key, u32 agreed) {
    if constexpr (Key::kFixedSize != 0) {
      if (at->path().matches(key)) return 0;
      const u32 level = at->path().mismatch(key);
      return at->path()[level] - key[level];
    } else {
      // A leaf is looked for only where the node does not know enough of its path.
      if (at->level() <= agreed + Path<Key>::kStored && at->path().matches(key)) return 0;
      const Attempt<Key> below = any_key(at);
      if (!below) return below.failure();
      if (*below == key) return 0;
      const u32 shared = common_prefix(*below, key);
      return shared >= at->level() ? 0 : (*below)[shared] - key[shared];
    }
  }

  /// The pairs of a leaf from `from` on (null: all). False if the batch had no room for all of them.
  static bool take(Child child, const Key* from, bool after, Batch& batch) {
    const Leaf* const leaf = child.template as_leaf<Leaf>();
    const u32 begin = batch.size();
    for (u32 i = 0; i < child.pairs(); ++i) {
      const Key key = leaf->key(i);
      if (from != nullptr && (key < *from || (after && key == *from))) continue;
      if (!batch.push(key, leaf->value(i), begin)) return false;
    }
    return true;
  }
};

}  // namespace latchlab::art
