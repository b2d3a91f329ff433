#pragma once
// A B-skiplist, written once for every transaction class: a skip list whose nodes have many keys.
//
//     level 2   | -                   t       |
//     level 1   | -     g     j     | t     w |
//     level 0   | b d | g h | j m | o p | t u | w |
//
// A node begins with a key that leads to it from the level above (g, j, t, w), or with another one if a full node was
// divided (o). The first node of a level begins before all keys (-).
//
// A key has a height, which a hash gives (heights.h). It is on all levels from 0 to its height. Level 0 has the values.
//
// Invariants
//   1. The nodes of a level are in order, and linked from left to right. A node has its keys from its least key on, and
//      below its bound, which is the least key of the next node. No node is empty, the first of a level apart.
//   2. A key of height h is the least of its node on all levels below h. Its entry on a level leads to that node on the
//      level below.
//   3. The first nodes of all levels are members. Each leads to the one below. They stay the first.
//   4. A node is locked before any of its fields is stored to, and before it is retired. A node that will be retired is
//      locked together with its left neighbour, and with the node above that leads to it, if there is one. So nothing
//      leads to a retired node.
//   5. The entry of a byte string on level 0 owns its record. All other levels and the bounds refer to the same record.
//
// A split needs no lock above the node: a node that an overflow makes is reached by its left neighbour alone. So an
// insert locks as many nodes as the key has levels, one in 7 of 8 cases. An erasure locks at most twice as many.
//
// A scan goes from leaf to leaf by their links. The pairs of one leaf are of one moment; those of different leaves need
// not be. A key that stays is seen exactly once.
//
// Cost of a lookup: it visits a node on each of log8(n) levels, and some on the right of these: 8 nodes in all among
// 100,000 keys, 10 among 2 M, 11.5 among 16 M. A node has four lines, which are fetched at once.
//
// Paper: Y. Luo, S. Hao, B. Wheatman, P. Pandey, H. Xu. Bridging cache-friendliness and concurrency: a
// locality-optimized in-memory B-skiplist. arXiv 2507.21492, 2025. We have its top-down insert in a single pass, before
// which the height is known. We know the abstract, and not the code. These points are ours:
//   1. Readers lock nothing. A change locks all its nodes at once, after its descent.
//   2. The height follows from a hash, so an erasure knows it.
//   3. A node has the bound beside its link. So a search does not touch the next node to see whether it must go there.
//   4. Leaves are not sorted, but have an order in one word (btree/order.h).
#include <cstddef>
#include <string_view>

#include "indexes/bskip/descent.h"
#include "indexes/bskip/erase.h"
#include "indexes/bskip/heights.h"
#include "indexes/bskip/insert.h"
#include "indexes/bskip/node.h"
#include "indexes/bskip/seeded_bugs.h"
#include "indexes/btree/sizes.h"
#include "indexes/scan_batch.h"
#include "src/memory/pool.h"
#include "sync/attempt.h"

namespace latchlab {

template <class PlainLayout, class KeyType>
class BSkip {
 public:
  using Key = KeyType;
  using Layout = btree::SizedLayout<PlainLayout, bskip::kNodeBytes>;
  using Batch = ScanBatch<Key>;
  using Heads = bskip::Heads<Layout, Key>;
  static constexpr std::string_view kName = "bskip";
  static constexpr bool kOrdered = true;
  static constexpr bool kBearsScouts = true;  // searches stay within nodes, and walks go to the right

  BSkip() = default;
  BSkip(const BSkip&) = delete;
  BSkip& operator=(const BSkip&) = delete;

  /// Returns the bytes that one attempt to put `key` needs beyond what a pool always has ready: those of a long string.
  static std::size_t extra_bytes(const Key& key) {
    static_assert((Heads::bytes(0) + Heads::bytes(1)) * Heads::kLevels + 1024 <=
                  Pool<typename Layout::Machine>::kAttemptBytes);
    if constexpr (Key::kFixedSize != 0) return 0;
    return 2 * key.size();
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const Sought sought = Forms::sought(key);
    ReaderOf<Tx> at;
    if (!Descent::to_leaf(tx, heads_, sought, at)) return kRestart;
    const auto* const value = Descent::leaf(at)->find(sought);
    return tx.confirm(value == nullptr ? Found() : Found(value->load()), at);
  }

  /// Returns true if the pair was absent (insert, upsert) or present (update). An insert of a present key and an update
  /// of an absent one change nothing and return false.
  template <class Tx>
  [[gnu::always_inline]] Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    const Sought sought = Forms::sought(key);
    ReaderOf<Tx> at;
    if (!Descent::template to_leaf<true>(tx, heads_, sought, at)) return kRestart;
    Leaf* const leaf = Descent::leaf(at);
    if (const auto* const present = leaf->find(sought); present != nullptr) {
      if (how == Put::kInsert) return tx.confirm(false, at);
      if (!tx.upgrade(at)) return kRestart;
      value.change(Leaf::writable(present));
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return tx.confirm(false, at);
    const u32 height = Levels::height(sought);
    if (height != 0 || heads_.is_full(*leaf)) {
      if constexpr (kSmall<Tx>) {
        return tx.ask_for_more();
      } else {
        using Insert = bskip::Insert<Layout, Key>;
        if (height == 0) return Insert::overflow(tx, at, sought, value.first());
        tx.unclaim();  // it locks other nodes, too
        return Insert::rise(tx, heads_, sought, value.first(), height);
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
    if (!Descent::template to_leaf<true>(tx, heads_, sought, at)) return kRestart;
    Leaf* const leaf = Descent::leaf(at);
    const auto* const value = leaf->find(sought);
    if (value == nullptr) return tx.confirm(false, at);
    const u32 height = Levels::height(sought);
    if (height != 0 || begins(*leaf, sought) || Erase<Tx>::may_join(*leaf)) {
      if constexpr (kSmall<Tx>) {
        return tx.ask_for_more();
      } else {
        tx.unclaim();
        return Erase<Tx>(tx, heads_).erase(sought, height, wanted);
      }
    }
    if (!wanted.fits(*value)) return tx.confirm(false, at);
    if (!tx.upgrade(at)) return kRestart;
    Forms::retire(tx, leaf->remove(sought));
    return true;
  }

  /// Collects the next pairs of a scan into `batch`, which it clears first: the smallest keys from `from` on, or after
  /// it. Collects at least one pair if there is one, and returns true. The pairs are strictly in order, and complete up
  /// to the last of them.
  template <class Tx>
  Attempt<bool> gather_in(Tx& tx, const Key& from, bool after, std::size_t wanted, Batch& batch) const {
    batch.clear(wanted);
    const Sought begin = Forms::sought(from);
    ReaderOf<Tx> at;
    if (!Descent::to_leaf(tx, heads_, begin, at)) return kRestart;
    for (;;) {  // each turn goes on to the next leaf
      const u32 proven = batch.size();
      auto* const next = at->next();
      if (next != nullptr) Descent::prefetch(next, 0);
      const bool ends = !Descent::leaf(at)->collect(begin, after, batch) || next == nullptr;
      if (ends ? !tx.confirm(true, at) : !at.step_to(next)) {  // each proves what was collected
        if (proven == 0 && !(Bugs::kKeepUnproven && !batch.empty())) return kRestart;
        if (!Bugs::kKeepUnproven) batch.truncate(proven);
        return true;
      }
      if (ends) return true;
    }
  }

  /// Frees every block, one by one, for memory that is not released in bulk. No other thread may use the index.
  template <class Pool>
  void free_all(Pool& pool) {
    for (u32 level = 0; level < Heads::kLevels; ++level) {
      for (auto* node = heads_.node(level); node != nullptr;) {
        auto* const next = node->next();
        if (level == 0) {
          const Leaf* const leaf = Descent::leaf(node);
          for (u32 rank = 0; rank < leaf->entries(); ++rank) Forms::free(pool, leaf->key_at(rank));
        }
        if (node != heads_.node(level)) pool.free(node, Heads::bytes(level));
        node = next;
      }
    }
  }

  /// Returns the smallest key of all, where a whole scan begins.
  static Key first_key() { return Key(); }

  /// Returns the first nodes, for tests that check all nodes.
  Heads& heads() const { return heads_; }

 private:
  using Bugs = bskip::BugFlags<typename Layout::Bugs::Flag>;
  using Levels = bskip::Levels<Layout>;
  using Descent = bskip::Descent<Layout, Key>;
  using Leaf = bskip::Leaf<Layout, Key>;
  using Forms = btree::Forms<Key>;
  using Kept = typename Forms::Kept;
  using Sought = typename Forms::Sought;
  template <class Tx>
  using ReaderOf = typename Descent::template ReaderOf<Tx>;
  template <class Tx>
  using Erase = bskip::Erase<Layout, Key, Tx>;

  /// Returns true if a present key is the least of its leaf, and the leaf has a left neighbour.
  bool begins(const Leaf& leaf, const Sought& key) const { return !heads_.is_first(&leaf) && leaf.rank(key) == 0; }

  mutable Heads heads_;
};

}  // namespace latchlab
