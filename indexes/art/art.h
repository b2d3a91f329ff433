#pragma once
// The adaptive radix tree, written once for every transaction class.
//
// Leis, Kemper, Neumann (ICDE 2013) describe the tree; Leis, Scheibner, Kemper, Neumann (DaMoN 2016) describe its
// optimistic readers. We differ in three points:
//   1. A node's path is absolute and fixed (path.h). So splitting or merging paths replaces one pointer and never
//      changes a node that others read.
//   2. A leaf holds up to four pairs (leaf.h).
//   3. A node at the last byte of a fixed-size key holds values and no leaves (node.h).
//
// Invariants
//   1. The root is a Node256 at level 0 that is never replaced.
//   2. All keys below a slot share the path of its node and the slot's byte.
//   3. A node other than the root has at least two children. An operation that would leave one child replaces the node.
//   4. A reachable node is locked, together with its parent, before it is replaced. It is retired afterwards.
//
// Depth: at most 8 nodes for u64 keys. Cost of a lookup: one dependent cache miss for each level that caches do not
// hold, and one for the leaf. The header of a node and its slot are fetched side by side, since the level is predicted.
#include <span>
#include <tuple>
#include <vector>

#include "indexes/scan_batch.h"
#include "indexes/art/child.h"
#include "indexes/art/descent.h"
#include "indexes/art/leaf.h"
#include "indexes/art/leftover.h"
#include "indexes/art/node.h"
#include "indexes/art/path.h"
#include "indexes/art/scan.h"
#include "indexes/art/side_by_side.h"
#include "src/memory/memory.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class Art {
 public:
  using Key = KeyType;
  using Batch = ScanBatch<Key>;
  static constexpr std::string_view kName = "art";
  static constexpr bool kOrdered = true;
  static constexpr bool kLatchFreeReaders = true;  // node.h and scan.h say why
  static constexpr bool kFarLeaves = true;         // leaf.h: kIsLeaf

  Art() = default;
  Art(const Art&) = delete;
  Art& operator=(const Art&) = delete;

  /// Returns an upper bound of the bytes that one attempt to put `key` allocates beyond what a pool always has ready.
  static std::size_t extra_bytes(const Key& key) {
    if constexpr (Key::kFixedSize != 0) return 0;
    return key.size();
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    ReaderOf<Tx> at;
    Way way;
    return Descent::answer(tx, Descent::descend(tx, root(), key, std::ignore, at, way), key, at, way);
  }

  /// Finds several keys: found[i] answers keys[i] (side_by_side.h).
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool) const {
    if (!art::SideBySide<Layout, Key>::find(tx, root(), keys, found)) return kRestart;
    return true;
  }

  /// Prefetches the node below the two upper levels, which caches usually hold, and then what that node leads to.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx& tx, const Key& key, Hint) const {
    Descent::template prefetch_below<2>(tx, root(), key);
  }
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx& tx, const Key& key) const {
    Descent::template prefetch_below<3>(tx, root(), key);
  }

  /// Returns true if the pair was absent (insert, upsert) or present (update). An insert of a present key and an update
  /// of an absent one change nothing and return false.
  template <class Tx>
  [[gnu::always_inline]] Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    auto parent = first_parent(tx);
    ReaderOf<Tx> at;
    Way way;
    const End end = Descent::descend(tx, root(), key, parent, at, way);
    if (end == End::kChanged) return kRestart;
    switch (end) {
      case End::kNone:
        if (how == Put::kUpdate) return tx.confirm(false, at);
        return add(tx, parent, at, key, value.first(), way.skipped);
      case End::kFreeSlot:
        if (how == Put::kUpdate) return tx.confirm(false, at);
        return add_in(tx, at, way, key, value.first());
      case End::kValue:
        if (how == Put::kInsert) return tx.confirm(false, at);
        if (!tx.upgrade(at)) return kRestart;
        value.change(Node::writable(way.slot));
        return how == Put::kUpdate;
      case End::kLeaf: return put_in_leaf(tx, at, way, key, value, how);
      case End::kPathDiffers:
        if (how == Put::kUpdate) return tx.confirm(false, at);
        return rarely(tx, [&](auto& more) { return branch(more, parent, at, key, value.first()); });
      case End::kChanged:
      case End::kFurther: break;
    }
    __builtin_unreachable();
  }

  /// Returns true if the key was present and its value is one that is wanted.
  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    ReaderOf<Tx> parent = tx.enter(root()), at;
    Way way;
    const End end = Descent::descend(tx, root(), key, parent, at, way);
    if (end == End::kChanged) return kRestart;
    if (end == End::kValue) return wanted.fits(*way.slot) ? remove(tx, parent, at, key) : tx.confirm(false, at);
    if (end != End::kLeaf) return tx.confirm(false, at);
    const Child child(way.word);
    Leaf* const leaf = child.template as_leaf<Leaf>();
    if (!at.follow(leaf)) return kRestart;
    const auto* const value = Leaf::find(child, key);
    if (value == nullptr || !wanted.fits(*value)) return tx.confirm(false, at);
    const std::size_t bytes = leaf->bytes(child.pairs());
    if (child.pairs() == 1) {
      const Attempt<bool> removed = remove(tx, parent, at, key);
      if (removed) tx.retire(leaf, bytes);
      return removed;
    }
    Group rest;
    rest.add_all_but(*leaf, child.pairs(), key);
    const Child smaller = make_leaf(tx, rest);
    if (!smaller) return kNoMemory;
    if (!tx.upgrade(at)) return kRestart;
    at->replace(key[at->level()], smaller.word());
    tx.retire(leaf, bytes);
    return true;
  }

  /// Collects the next pairs of a scan into `batch`, which it clears first: the smallest keys from `from` on, or after
  /// it. Collects at least one pair if there is one, and returns true. The pairs are strictly in order, and complete up
  /// to the last of them (scan.h).
  template <class Tx>
  Attempt<bool> gather_in(Tx& tx, const Key& from, bool after, std::size_t wanted, Batch& batch) const {
    return Scan::gather(tx, root(), from, after, wanted, batch);
  }

  /// Frees every block, one by one, for memory that is not released in bulk. No other thread may use the tree.
  template <class Pool>
  void free_all(Pool& pool) {
    std::vector<Node*> nodes;
    for (Node* node = root();;) {
      Entry entry;
      for (u32 byte = 0; byte < 256 && !node->holds_values() && node->next(byte, entry); byte = entry.byte + 1u) {
        const Child child(entry.word);
        if (!child.is_leaf()) {
          nodes.push_back(child.template as_node<Node>());
        } else {
          Leaf* const leaf = child.template as_leaf<Leaf>();
          pool.free(leaf, pool.placed(leaf->bytes(child.pairs())));
        }
      }
      if (node != root()) pool.free(node, Node::bytes_of(node->kind()));
      if (nodes.empty()) return;
      node = nodes.back();
      nodes.pop_back();
    }
  }

  /// Returns the smallest key of all, where a whole scan begins.
  static Key first_key() { return Key(); }

 private:
  using Node = art::Node<Layout, Key>;
  using Node4 = art::Node4<Layout, Key>;
  using Node16 = art::Node16<Layout, Key>;
  using Node48 = art::Node48<Layout, Key>;
  using Node256 = art::Node256<Layout, Key>;
  using Leaf = art::Leaf<Layout, Key>;
  using Path = art::Path<Key>;
  using Scan = art::Scan<Layout, Key>;
  using Descent = art::Descent<Layout, Key>;
  using End = art::End;
  using Way = typename Descent::Way;
  template <class Tx>
  using ReaderOf = typename Descent::template ReaderOf<Tx>;
  using Child = art::Child;
  using Group = art::Group<Key>;
  using Leftover = art::Leftover<Layout, Key>;
  using Entry = art::Entry;
  using Kind = art::Kind;

  static constexpr u32 kNoByte = 256;  // no byte: copies leave nothing out

  Node* root() const { return const_cast<Node256*>(&root_); }

  /// Returns a new leaf for the pair, or for the pairs of the group; 0 when memory is out.
  template <class Tx>
  [[gnu::always_inline]] static Child make_leaf(Tx& tx, const Key& key, u64 value) {
    const Leaf* const leaf = tx.template make<Leaf>(key, value);
    return leaf == nullptr ? Child(0) : Child::leaf(leaf, 1);
  }
  template <class Tx>
  static Child make_leaf(Tx& tx, const Group& group) {
    if constexpr (Leaf::kMaxPairs == 1) {
      return make_leaf(tx, group.key(0), group.value(0));
    } else {
      const Leaf* const leaf = tx.template make<Leaf>(group);
      return leaf == nullptr ? Child(0) : Child::leaf(leaf, group.size());
    }
  }

  /// Returns the word for the pair in a slot at `level`: its value, or a new leaf.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<u64> make_word(Tx& tx, u32 level, const Key& key, u64 value) {
    if (Node::holds_values(level)) [[unlikely]]
      return value;
    const Child leaf = make_leaf(tx, key, value);
    if (!leaf) return kNoMemory;
    return leaf.word();
  }

  template <class Tx>
  static Node* make_node(Tx& tx, Kind kind, const Path& path) {
    switch (kind) {
      case Kind::k4: return tx.template make<Node4>(path);
      case Kind::k16: return tx.template make<Node16>(path);
      case Kind::k48: return tx.template make<Node48>(path);
      default: return tx.template make<Node256>(path);
    }
  }

  /// Returns a reader of the root, which is the parent of the first node below it. A small attempt changes no parent,
  /// so it needs none.
  template <class Tx>
  auto first_parent(Tx& tx) const {
    if constexpr (kSmall<Tx>) {
      return std::ignore;
    } else {
      return tx.enter(root());
    }
  }

  /// Runs `change(tx)`, which is rare and long, but not in a small attempt. A function that takes the transaction by
  /// reference would keep it out of registers.
  template <class Tx, class Change>
  [[gnu::always_inline]] static Attempt<bool> rarely(Tx& tx, const Change& change) {
    if constexpr (kSmall<Tx>) {
      return tx.ask_for_more();
    } else {
      return change(tx);
    }
  }

  /// Adds the key in the free slot of `at`. Most inserts into a large tree end here.
  template <class Tx, class Reader>
  [[gnu::always_inline]] static Attempt<bool> add_in(Tx& tx, const Reader& at, const Way& way, const Key& key,
                                                     u64 value) {
    const Child leaf = make_leaf(tx, key, value);
    if (!leaf) return kNoMemory;
    if (!tx.upgrade(at)) return kRestart;
    Node::replace(way.slot, leaf.word());  // adding a child to a Node256 is this store alone
    return true;
  }

  /// Adds the key to `at`, in which its byte has no slot.
  template <class Tx, class Parent, class Reader>
  [[gnu::always_inline]] Attempt<bool> add(Tx& tx, const Parent& parent, const Reader& at, const Key& key, u64 value,
                                           bool skipped) {
    if (Descent::kMaySkip && skipped) {
      const Attempt<Key> below = any_key(at);
      if (!below) return below.failure();
      if (const u32 shared = common_prefix(*below, key); shared < at->level())
        return rarely(tx, [&](auto& more) { return branch_at(more, key, value, shared); });
    }
    const u32 level = at->level();
    return at->visit([&](auto& node) __attribute__((always_inline)) -> Attempt<bool> {
      if (node.full()) return rarely(tx, [&](auto& more) { return add_to_larger(more, parent, at, key, value); });
      const Attempt<u64> word = make_word(tx, level, key, value);
      if (!word) return word.failure();
      if (!tx.upgrade(at)) return kRestart;
      node.add(key[level], *word);
      return true;
    });
  }

  /// Adds the key in a larger or a packed copy of `at`, which has no slot left.
  template <class Tx, class Reader>
  [[gnu::noinline]] Attempt<bool> add_to_larger(Tx& tx, Reader parent, Reader at, const Key key, u64 value) {
    const Attempt<u64> word = make_word(tx, at->level(), key, value);
    if (!word) return word.failure();
    // If a quarter of the slots are erased, a packed copy of the same kind has room enough.
    const u32 slots = art::capacity(at->kind());
    const Kind kind = at->children() + 1 <= slots * 3 / 4 ? at->kind() : art::kind_for(slots + 1);
    Node* const larger = make_node(tx, kind, at->path());
    if (larger == nullptr) return kNoMemory;
    larger->copy(*at.node(), kNoByte);
    if (!tx.upgrade(parent, at)) return kRestart;
    larger->add(key[at->level()], *word);
    parent->replace(key[parent->level()], Child::node(larger).word());
    tx.retire(at.node(), Node::bytes_of(at->kind()));
    return true;
  }

  template <class Tx, class Reader>
  [[gnu::always_inline]] Attempt<bool> put_in_leaf(Tx& tx, const Reader& at, const Way& way, const Key& key,
                                                   const auto value, Put how) {
    const Child child(way.word);
    Leaf* const leaf = child.template as_leaf<Leaf>();
    const u32 pairs = child.pairs();
    // The leaf is read before its node is validated, as in a lookup: it stays readable, and confirm or upgrade follows.
    if (auto* const value_of_key = Leaf::find(child, key); value_of_key != nullptr) {
      if (how == Put::kInsert) return tx.confirm(false, at);
      if (!tx.upgrade(at)) return kRestart;
      value.change(*value_of_key);
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return tx.confirm(false, at);
    if (pairs == Leaf::kMaxPairs)
      return rarely(tx, [&](auto& more) { return split_leaf(more, at, child, key, value.first()); });
    if constexpr (Leaf::kMaxPairs > 1) {
      static_assert(Leaf::room(1) > 1 && Leaf::room(3) > 3);
      if (pairs == 2) return grow_leaf<2>(tx, at, way, key, value.first());
      if (!tx.upgrade(at)) return kRestart;
      leaf->append(pairs, key, value.first());  // stored before the word that publishes it
      Node::replace(way.slot, child.with_next_place().word());
    }
    return true;
  }

  /// Adds the key to a leaf of kPairs pairs that has no room for another, in a copy.
  template <u32 kPairs, class Tx, class Reader>
  [[gnu::always_inline]] Attempt<bool> grow_leaf(Tx& tx, const Reader& at, const Way& way, const Key& key, u64 value) {
    static_assert(Leaf::room(kPairs) == kPairs);
    Leaf* const leaf = Child(way.word).template as_leaf<Leaf>();
    const Leaf* const larger = tx.template make<Leaf>(*leaf, std::integral_constant<u32, kPairs>(), key, value);
    if (larger == nullptr) return kNoMemory;
    if (!tx.upgrade(at)) return kRestart;
    Node::replace(way.slot, Child::leaf(larger, kPairs + 1).word());
    tx.retire(leaf, leaf->bytes(kPairs));
    return true;
  }

  /// Replaces a full leaf by a node at the first byte in which its keys and the new key differ. Each value of that byte
  /// gets a leaf.
  template <class Tx, class Reader>
  [[gnu::noinline]] Attempt<bool> split_leaf(Tx& tx, Reader at, Child child, const Key key, u64 value) {
    Leaf* const leaf = child.template as_leaf<Leaf>();
    Group all;
    all.add_all(*leaf, child.pairs());
    u32 level = common_prefix(key, all.key(0));
    for (u32 i = 1; i < all.size(); ++i) level = std::min(level, common_prefix(key, all.key(i)));
    if (level <= at->level()) {
      // Fixed-size keys: the node and the leaf were read at different moments. Byte strings: the descent skipped a byte
      // that differs.
      if (!Descent::kMaySkip) return kRestart;
      return branch_at(tx, key, value, level);
    }
    all.add(key, value);
    u32 bytes = 0;  // number of different bytes at the level
    for (u32 i = 0; i < all.size(); ++i) bytes += first_with_byte(all, level, i) == i;
    Node* const node = make_node(tx, art::kind_for(bytes), Path(key, level));
    if (node == nullptr) return kNoMemory;
    bool kept = false;  // true if the old leaf is used whole, beside a leaf for the new key
    for (u32 i = 0; i < all.size(); ++i) {
      if (first_with_byte(all, level, i) != i) continue;
      const u8 byte = all.key(i)[level];
      if (node->holds_values()) {
        node->add(byte, all.value(i));
        continue;
      }
      Group group;
      for (u32 j = i; j < all.size(); ++j) {
        if (all.key(j)[level] == byte) group.add(all.key(j), all.value(j));
      }
      kept = i == 0 && group.size() == child.pairs() && byte != key[level];
      const Child part = kept ? child : make_leaf(tx, group);
      if (!part) return kNoMemory;
      node->add(byte, part.word());
      if (kept) {
        const Child fresh = make_leaf(tx, key, value);
        if (!fresh) return kNoMemory;
        node->add(key[level], fresh.word());
        break;
      }
    }
    const std::size_t leaf_bytes = leaf->bytes(child.pairs());
    if (!tx.upgrade(at)) return kRestart;
    at->replace(key[at->level()], Child::node(node).word());
    if (!kept) tx.retire(leaf, leaf_bytes);
    return true;
  }
  static u32 first_with_byte(const Group& group, u32 level, u32 i) {
    u32 first = 0;
    while (group.key(first)[level] != group.key(i)[level]) ++first;
    return first;
  }

  /// Inserts a Node4 between `parent` and `at`, whose path differs from the key, at the first byte that differs.
  template <class Tx, class Reader>
  [[gnu::noinline]] Attempt<bool> branch(Tx& tx, Reader parent, Reader at, const Key key, u64 value) {
    if constexpr (!Descent::kMaySkip) {
      const u32 level = at->path().mismatch(key);
      return insert_above(tx, parent, Child::node(at.node()), key, value, level, at->path()[level]);
    } else {
      const Attempt<Key> below = any_key(at);
      if (!below) return below.failure();
      const u32 shared = common_prefix(*below, key);
      if (shared >= at->level()) return kRestart;  // the leaf was read at another moment than the path
      return branch_at(tx, key, value, shared);
    }
  }

  /// Does the same as branch() where only a leaf shows that the key leaves the tree's path after `shared` bytes. That
  /// byte may be far above `at`. So it descends again, down to the edge that spans the byte.
  template <class Tx>
  [[gnu::noinline]] Attempt<bool> branch_at(Tx& tx, const Key key, u64 value, u32 shared) {
    auto at = tx.enter(root());
    for (auto parent = at;;) {
      u64 word;
      if (!at->find(key[at->level()], word)) return kRestart;  // the key's byte was erased meanwhile
      const Child child(word);
      if (child.is_leaf()) {
        if (!at.follow(child.template as_leaf<Leaf>())) return kRestart;
        const Key below = child.template as_leaf<Leaf>()->key(0);
        if (below == key || common_prefix(below, key) != shared) return kRestart;
        return insert_above(tx, at, child, key, value, shared, below[shared]);
      }
      parent = at;
      if (!at.step_to(child.template as_node<Node>())) return kRestart;
      if (at->level() > shared) {
        const Attempt<Key> below = any_key(at);
        if (!below) return below.failure();
        if (*below == key || common_prefix(*below, key) != shared) return kRestart;
        return insert_above(tx, parent, Child::node(at.node()), key, value, shared, (*below)[shared]);
      }
    }
  }

  template <class Tx, class Reader>
  Attempt<bool> insert_above(Tx& tx, Reader& parent, Child child, const Key& key, u64 value, u32 level, u8 child_byte) {
    if (level <= parent->level()) return kRestart;  // the nodes were read at different moments
    const Child leaf = make_leaf(tx, key, value);
    if (!leaf) return kNoMemory;
    Node4* const node = tx.template make<Node4>(Path(key, level));
    if (node == nullptr) return kNoMemory;
    node->add(child_byte, child.word());
    node->add(key[level], leaf.word());
    if (!tx.upgrade(parent)) return kRestart;
    parent->replace(key[parent->level()], Child::node(node).word());
    return true;
  }

  template <class Reader>
  static Attempt<Key> any_key(const Reader& at) {
    return Scan::any_key(at);
  }

  /// Removes the key's slot from `at`. If few children are left, something smaller replaces the node. That is its last
  /// child, one leaf with all of its pairs, or a copy of a smaller kind. If there is no memory for that, a node of two
  /// children or more stays as large as it is.
  template <class Tx, class Reader>
  Attempt<bool> remove(Tx& tx, Reader& parent, Reader& at, const Key& key) {
    const u8 byte = key[at->level()];
    const u32 left = at->left_without(byte);
    const bool crowded = at.node() == root() || left > shrinks_at(at->kind());
    const auto keep_node = [&]() -> Attempt<bool> {
      if (!tx.upgrade(at)) return kRestart;
      at->remove(byte);
      at->set_too_large(!crowded);
      return true;
    };
    if (crowded) return keep_node();
    Leftover leftover;
    if (left <= Leftover::kMaxChildren) leftover = Leftover(*at.node(), byte);
    u64 word = leftover.only_child();
    if (word == 0 && leftover.fits_leaf()) {
      const Child leaf = make_leaf(tx, leftover.pairs());
      if (!leaf) return left > 1 ? keep_node() : kNoMemory;
      word = leaf.word();
    } else if (word == 0 && at->kind() == Kind::k4) {
      return keep_node();
    } else if (word == 0) {
      Node* const smaller = make_node(tx, art::kind_for(left), at->path());
      if (smaller == nullptr) return keep_node();
      smaller->copy(*at.node(), byte);
      word = Child::node(smaller).word();
    }
    if (!tx.upgrade(parent, at)) return kRestart;
    parent->replace(key[parent->level()], word);
    tx.retire(at.node(), Node::bytes_of(at->kind()));
    leftover.retire_leaves(tx, word);
    return true;
  }

  /// Returns the number of children at which a node of this kind shrinks. It is below the capacity of the next smaller
  /// kind, so that a key that comes and goes does not copy a node each time. (A Node256 of children is examined only
  /// when a line of its slots becomes empty.)
  static constexpr u32 shrinks_at(Kind kind) {
    switch (kind) {
      case Kind::k4: return Leftover::kMaxChildren;
      case Kind::k16: return 3;
      case Kind::k48: return 12;
      default: return 37;
    }
  }
  Node256 root_{Path(Key(), 0)};
};

}  // namespace latchlab
