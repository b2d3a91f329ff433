#pragma once
// A B+-tree, written once for every transaction class.
//
// Bayer and McCreight (Acta Informatica 1972) describe the tree; Leis, Haubenschild and Neumann (IEEE Data Engineering
// Bulletin 2019) its optimistic readers. We differ in four points:
//   1. An anchor above the root holds the root and the height. So the root is a node like others.
//   2. Leaves are not sorted, but have an order in one word (order.h). An insert stores a pair and this word.
//   3. Nodes have no links to their neighbours, and do not store their bounds (descent.h says why).
//   4. Splits are lazy: they go up as far as nodes are full, and lock exactly these nodes and the one above.
//
//     anchor -> inner (level 2) -> inner (level 1) -> leaf (level 0)
//
// Invariants
//   1. All leaves are at level 0. The first leaf is a member, and stays the first: a split adds a right neighbour, and
//      a merge moves entries to the left and unlinks the right node.
//   2. A reachable node is locked, together with its parent, before it is split or unlinked. It is retired afterwards.
//   3. The first leaf may be empty, and an inner node may have a single child. The root is a leaf, or has two children.
//
// A scan collects leaf by leaf. It goes on from the upper bound of a leaf by a new descent. The pairs of one leaf are
// of one moment; those of different leaves need not be. A key that stays is seen exactly once.
//
// Cost of a lookup: four lines at once for each level that caches do not hold.
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/btree/descent.h"
#include "indexes/btree/node.h"
#include "indexes/btree/options.h"
#include "indexes/btree/relief.h"
#include "indexes/btree/seeded_bugs.h"
#include "indexes/btree/shrink.h"
#include "indexes/btree/side_by_side.h"
#include "indexes/btree/sizes.h"
#include "indexes/btree/split.h"
#include "indexes/scan_batch.h"
#include "src/memory/pool.h"
#include "sync/attempt.h"

namespace latchlab {

/// A tree whose nodes have at most kBytes bytes.
template <class PlainLayout, class KeyType, u32 kBytes>
class BTreeOf {
 public:
  using Key = KeyType;
  using Layout = btree::SizedLayout<PlainLayout, kBytes>;
  using Options = std::conditional_t<kBytes == btree::kSmallBytes, btree::Options<kBytes>, btree::OtherOptions<kBytes>>;
  using Batch = ScanBatch<Key>;
  using Relief = btree::Relief<Layout::kScale>;
  static constexpr std::string_view kName = "btree";
  static constexpr bool kOrdered = true;
  static constexpr bool kBearsScouts = true;  // searches stay within nodes, and heights bound descents

  BTreeOf() = default;
  explicit BTreeOf(const Options& options) : relief_(options.relief) {}
  BTreeOf(const BTreeOf&) = delete;
  BTreeOf& operator=(const BTreeOf&) = delete;

  /// Returns the bytes that one attempt to put `key` needs beyond what a pool always has ready: the largest nodes of a
  /// split on all levels, and for a long string its record and a part of it between two nodes.
  static std::size_t extra_bytes(const Key& key) {
    constexpr std::size_t kReady = Pool<typename Layout::Machine>::kAttemptBytes;
    constexpr std::size_t kWanted = sizeof(Leaf) * (btree::Sizes<Layout, Key>::kMostNodes - 1) + 1024;
    constexpr std::size_t kExtra = kWanted <= kReady ? 0 : kWanted - kReady;
    if constexpr (Key::kFixedSize != 0) return kExtra;
    return kExtra + 2 * key.size();
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const Sought sought = Forms::sought(key);
    ReaderOf<Tx> at;
    u32 height;
    if (!Descent::to_leaf(tx, &anchor_, sought, at, height, Passing())) return kRestart;
    return Descent::answer(tx, at, sought);
  }

  /// Finds several keys: found[i] answers keys[i] (side_by_side.h).
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool) const {
    if (!btree::SideBySide<Layout, Key>::find(tx, &anchor_, keys, found)) return kRestart;
    return true;
  }

  /// Prefetches the node above the leaf, and then the leaf. Caches usually hold the nodes above these.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx& tx, const Key& key, Hint) const {
    Descent::template prefetch_at<1>(tx, &anchor_, Forms::sought(key));
  }
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx& tx, const Key& key) const {
    Descent::template prefetch_at<0>(tx, &anchor_, Forms::sought(key));
  }

  /// Returns true if the pair was absent (insert, upsert) or present (update). An insert of a present key and an update
  /// of an absent one change nothing and return false.
  template <class Tx>
  [[gnu::always_inline]] Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    const Sought sought = Forms::sought(key);
    ReaderOf<Tx> at;
    u32 height;
    if (!Descent::template to_leaf<true>(tx, &anchor_, sought, at, height, Passing())) return kRestart;
    Leaf* const leaf = Descent::leaf(at);
    if (const auto* const present = leaf->find(sought); present != nullptr) {
      if (how == Put::kInsert) return tx.confirm(false, at);
      if (!tx.upgrade(at)) return kRestart;
      value.change(Leaf::writable(present));
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return tx.confirm(false, at);
    if (leaf->full()) {
      if constexpr (kSmall<Tx>) {
        return tx.ask_for_more();
      } else {
        tx.unclaim();  // a split reads the nodes above anew, and claims the leaf again
        return btree::Split<Layout, Key, Tx>(tx, &anchor_).insert(sought, value.first());
      }
    }
    const Attempt<Kept> kept = Forms::make(tx, sought);
    if (!kept) return kNoMemory;
    if (!tx.upgrade(at)) return kRestart;
    leaf->insert(*kept, value.first());
    return true;
  }

  /// Returns true if the key was present and its value is one that is wanted.
  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    const Sought sought = Forms::sought(key);
    ReaderOf<Tx> at;
    u32 height;
    if (!Descent::template to_leaf<true>(tx, &anchor_, sought, at, height, Passing())) return kRestart;
    Leaf* const leaf = Descent::leaf(at);
    const auto* const value = leaf->find(sought);
    if (value == nullptr || !wanted.fits(*value)) return tx.confirm(false, at);
    if (leaf->sparse() && height > 0) {
      if constexpr (kSmall<Tx>) {
        return tx.ask_for_more();
      } else {
        tx.unclaim();
        return btree::Shrink<Layout, Key, Tx>(tx, &anchor_).erase(&first_, sought, wanted);
      }
    }
    if (!tx.upgrade(at)) return kRestart;
    Forms::retire(tx, leaf->remove(sought));
    return true;
  }

  /// Looks at the leaf of a key whose changes meet those of other threads, and may split it (relief.h).
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key& key, const Relief&, Relief&) {
    if (!relief_) return StepResult::kOneDone;
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      const Attempt<bool> divided = btree::Split<Layout, Key, Tx>(tx, &anchor_).divide(Forms::sought(key), looks_);
      if (!divided) return divided.failure();
      return StepResult::kOneDone;
    }
  }

  /// Collects the next pairs of a scan into `batch`, which it clears first: the smallest keys from `from` on, or after
  /// it. Collects at least one pair if there is one, and returns true. The pairs are strictly in order, and complete up
  /// to the last of them.
  template <class Tx>
  Attempt<bool> gather_in(Tx& tx, const Key& from, bool after, std::size_t wanted, Batch& batch) const {
    batch.clear(wanted);
    Sought begin = Forms::sought(from);
    for (;;) {  // each turn begins at a greater key
      const u32 proven = batch.size();
      ReaderOf<Tx> at;
      u32 height;
      typename Descent::UpperBound bound;
      const bool arrived = Descent::to_leaf(tx, &anchor_, begin, at, height, bound);
      const bool has_room = arrived && Descent::leaf(at)->collect(begin, after, batch);
      if (!arrived || !tx.confirm(true, at)) {
        if (proven == 0 && !(Bugs::kKeepUnproven && !batch.empty())) return kRestart;
        if (!Bugs::kKeepUnproven) batch.truncate(proven);
        return true;
      }
      if (!has_room || !bound.known || (Bugs::kEndAtEmpty && batch.size() == proven)) return true;
      // A scout may have read two moments.
      if (Forms::unused(bound.key) || !Forms::less_than(begin, Forms::sought(bound.key))) return kRestart;
      begin = Forms::sought(bound.key);
      after = false;
    }
  }

  /// Frees every block, one by one, for memory that is not released in bulk. No other thread may use the tree.
  template <class Pool>
  void free_all(Pool& pool) {
    std::vector<std::pair<Node*, u32>> nodes{{root().node(), root().height()}};
    while (!nodes.empty()) {
      const auto [node, level] = nodes.back();
      nodes.pop_back();
      if (level > 0) {
        const Inner* const inner = Descent::inner(node);
        for (u32 i = 0; i <= inner->keys(); ++i) nodes.emplace_back(inner->child(i), level - 1);
        for (u32 i = 0; i < inner->keys(); ++i) Forms::free(pool, inner->key(i));
      } else {
        const Leaf* const leaf = Descent::leaf(node);
        for (u32 rank = 0; rank < leaf->entries(); ++rank) Forms::free(pool, leaf->key_at(rank));
      }
      if (node != &first_) pool.free(node, sizeof(Leaf));
    }
  }

  /// Returns the smallest key of all, where a whole scan begins.
  static Key first_key() { return Key(); }

  /// Returns the root, for tests that check the nodes.
  btree::Root<Layout> root() const { return btree::Root<Layout>(anchor_.root.load()); }

 private:
  using Bugs = btree::BugFlags<typename Layout::Bugs::Flag>;
  using Descent = btree::Descent<Layout, Key>;
  using Node = btree::Node<Layout>;
  using Inner = typename Descent::Inner;
  using Leaf = typename Descent::Leaf;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  using Passing = typename Descent::Passing;
  template <class Tx>
  using ReaderOf = typename Descent::template ReaderOf<Tx>;

  Leaf first_;
  mutable btree::Anchor<Layout> anchor_{btree::Root<Layout>(&first_, 0)};
  btree::Looks<Layout> looks_;
  const bool relief_ = true;
};

template <class Layout, class KeyType>
using BTree = BTreeOf<Layout, KeyType, btree::kSmallBytes>;
template <class Layout, class KeyType>
using BTree1K = BTreeOf<Layout, KeyType, 1024>;
template <class Layout, class KeyType>
using BTree4K = BTreeOf<Layout, KeyType, 4096>;

}  // namespace latchlab
