#pragma once
// A scan of ART, one batch of pairs at a time. Each batch is one attempt of a body.
//
// An attempt descends to the first key, visits node after node in order, and ends when the batch is full. The way back
// up is a trail of readers. It holds the nodes that were left for a child. Each comes with the version under which it
// was entered and the byte at which to continue.
//
// Theorem: under an optimistic transaction a scan misses no key that stays in the tree. A reader's validation proves
// all that was read through it so far. The scan validates each node that it leaves: by a step to a child, or by the
// confirm when the node has no more entries.
//   1. A reader whose version still holds reads a linked node. The step to the node proved that the node was linked
//      when its version was read, and unlinking changes the version of the unlinked node.
//   2. All keys that begin with the path of a linked node are below it, and below the slot of their next byte. This
//      holds even if the nodes above it have been replaced meanwhile: their replacements lead to the same node.
//   3. So a validated node has shown every key that stayed: its entries, and the bytes between them without an entry,
//      are those of one moment. By induction this holds for the nodes below, each at its own moment.
//   4. A node from the trail is entered again with its old version, so the scan uses what it reads there only if that
//      version still holds. Otherwise the attempt keeps the pairs up to the last proof, and the next attempt begins
//      after them, from the root. Nothing is skipped, since nothing was said about what lies beyond the last proven
//      pair.
//
// Consequence for a batch: the pairs of one node, in its leaves or slots, are of one moment. This holds even where a
// child's pairs come between them. Pairs of different nodes are of different moments. There may be no moment at which
// all were present.
//
// Under a transaction that validates nothing (rowex) the theorem rests on what nodes guarantee to readers without a
// latch (node.h). The consequence for a batch is weaker: each pair is of its own moment, even in one leaf.
//   1. A visited node was linked at some moment of the attempt. Either that was when the slot that led there was read.
//      Or it was when the node with that slot was unlinked, which happened after the attempt had reached that node.
//   2. The scan reads the node as it is or, once the node is unlinked, as it was then. Both are states of the tree
//      during the attempt, in which (lemma 2 above) all keys with its path are below it.
//   3. The scan asks for bytes in order, and each was seen or missed at one moment. A byte below which a key stays
//      never disappears. So the scan misses no key that stayed, and every pair that it took was present.
// One guarantee is lost: a node need not show any pair at all, if pairs come and go during the attempt. If a trail has
// forgotten a node and the attempt has found nothing since, the attempt cannot tell that this is the end. So it
// restarts.
//
// Cost: a validation for each node, each leaf and each return to a node; O(depth) to begin a batch.
#include <memory>

#include "indexes/scan_batch.h"
#include "indexes/art/child.h"
#include "indexes/art/leaf.h"
#include "indexes/art/node.h"
#include "indexes/art/path.h"
#include "sync/attempt.h"

namespace latchlab::art {

/// The number of nodes that a trail remembers. A u64 key has seven nodes above the deepest; a byte string may have any
/// number.
inline constexpr u32 kTrailPlaces = 8;

/// The way back up: the deepest nodes that were left for a child, and the byte at which to continue in each. A trail
/// holds at most kMost nodes and forgets those further up.
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
    // A ring that holds the last size_ places before top_; a union, since readers have no empty state.
    Place place_[kMost];
  };
};

template <class Layout, class Key>
class Scan {
 public:
  using Node = art::Node<Layout, Key>;
  using Leaf = art::Leaf<Layout, Key>;
  using Batch = ScanBatch<Key>;

  /// Collects the next pairs of a scan into `batch`, which it clears first: the smallest keys from `from` on, or after
  /// it. Returns true. Collects none only if there are none. Collects at most `wanted` pairs and the others of the last
  /// pair's leaf. It collects fewer if the batch is full, and sometimes because of concurrent changes or a deep tree.
  template <class Tx>
  static Attempt<bool> gather(Tx& tx, Node* root, const Key& from, bool after, std::size_t wanted, Batch& batch) {
    batch.clear(wanted);
    auto at = tx.enter(root);
    Trail<decltype(at)> trail;
    u32 proven = 0;       // number of pairs up to the last proof
    bool bounded = true;  // true if `at` is on the path of `from`, so that keys below it may be smaller
    for (u32 byte = from[0];;) {
      Entry entry;
      if (!at->next(byte, entry)) {
        if (!tx.confirm(true, at)) return cut(batch, proven);
        if (trail.empty()) {  // the end of all keys or, if pairs were found, of what the trail remembers
          if (batch.empty() && trail.forgot()) [[unlikely]]
            return kRestart;  // all pairs of the remembered nodes were erased meanwhile
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
        // A trail that forgets nodes must only forget those that come after a collected pair. Below every node there is
        // a pair, except on the path of `from`. There a node is pushed only if it has an entry beyond the child.
        Entry beyond;
        if (kForgetsNothing || !on_path || at->next(entry.byte + 1u, beyond)) trail.push(at, entry.byte + 1u);
        const u32 agreed = at->level() + 1;
        // Only a Node256 needs this: the children of other kinds were prefetched together.
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
            byte = 256;  // all keys below are smaller, so the node has nothing to offer
          }
        }
        continue;
      }
      if (batch.full()) return end(tx, at, batch, proven);
      byte = entry.byte + 1u;
    }
  }

  /// Returns some key below the node, and so the bytes of the node's path. The key's bytes are fixed: they are valid as
  /// long as the leaf.
  template <class Reader>
  static Attempt<Key> any_key(Reader at) {
    for (;;) {
      Entry entry;
      // The node is unlinked and empty, or its children came and went while a reader without a latch looked.
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

  /// Ends the attempt in `at`: with all gathered pairs, or with the pairs proven before.
  template <class Tx, class Reader>
  static Attempt<bool> end(Tx& tx, const Reader& at, Batch& batch, u32 proven) {
    if (!tx.confirm(true, at)) return cut(batch, proven);
    return true;
  }
  /// Ends the attempt after a change: with the pairs proven before, or with a restart if there are none.
  static Attempt<bool> cut(Batch& batch, u32 proven) {
    if (BugFlags<typename Layout::Bugs::Flag>::kKeepUnproven && !batch.empty()) return true;
    if (proven == 0) return kRestart;
    batch.truncate(proven);
    return true;
  }

  /// Compares the path of `at` with the key's first bytes, the first `agreed` of which are known to be equal. Returns a
  /// negative number, zero or a positive one.
  template <class Reader>
  static Attempt<int> compare(const Reader& at, const Key& key, u32 agreed) {
    if constexpr (Key::kFixedSize != 0) {
      if (at->path().matches(key)) return 0;
      const u32 level = at->path().mismatch(key);
      return at->path()[level] - key[level];
    } else {
      // A leaf is needed only where the node does not store enough of its path.
      if (at->level() <= agreed + Path<Key>::kStored && at->path().matches(key)) return 0;
      const Attempt<Key> below = any_key(at);
      if (!below) return below.failure();
      if (*below == key) return 0;
      const u32 shared = common_prefix(*below, key);
      return shared >= at->level() ? 0 : (*below)[shared] - key[shared];
    }
  }

  /// Collects the pairs of a leaf from `from` on (null: all). Returns false if the batch had no room for all of them.
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
