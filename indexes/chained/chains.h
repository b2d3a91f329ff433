#pragma once
// A hash table of chains with a node for every key. So the count of nodes visited per fetch of a present key means the
// same as in Wiscer. The table grows by doubling (indexes/growing/table.h) at 1.5 keys a bucket, which leaves between
// .75 and 1.5. It does not shrink. The derived class decides about the order of a chain: `chained` leaves it to the
// inserts, `vip` learns it.
//
// The word of a bucket has a filter of its keys (word.h). So an insert, or a lookup of an absent key, mostly reads the
// bucket's line and no node.
//
// For readers without a latch (kLatchFreeReaders) one store makes a key appear or disappear. A split takes many stores,
// between two that mark both words as splitting. A reader that finds its key is done. A reader that misses reads the
// word again. If the bucket was splitting, or has more bits by now, links may have led past the key. Then the reader
// restarts.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "indexes/chained/bucket.h"
#include "indexes/chained/node.h"
#include "indexes/chained/seeded_bugs.h"
#include "indexes/chained/word.h"
#include "indexes/growing/seeded_bugs.h"
#include "indexes/growing/table.h"
#include "indexes/walked_pairs.h"
#include "src/base/key.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab {

namespace chained {
/// The position of a new key in its chain. kBehindLearned is the first place as well, until the order of the chain has
/// been learned; from then on it is the last.
enum class NewKeys { kFirst, kBehindLearned };
}  // namespace chained

/// The table. `Mark` is additional data of a node, in cells.
template <class Layout, class KeyType, class Mark, chained::NewKeys kNewKeys>
class Chains {
 protected:
  using Node = chained::Node<Layout, KeyType, Mark>;
  static constexpr bool kLearnsOrder = kNewKeys == chained::NewKeys::kBehindLearned;
  using Word = chained::Word<Node, kLearnsOrder>;
  using Bucket = chained::Bucket<Layout>;
  using Table = growing::Table<Layout, Bucket>;
  using Bugs = chained::BugFlags<typename Layout::Bugs::Flag>;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;

 public:
  using Key = KeyType;
  using Growth = typename Table::Growth;
  using Hand = growing::Hand;
  using Walked = WalkedPairs<Key>;
  static_assert(Table::kMostBits <= Word::kMostBits);
  static constexpr bool kOrdered = false;
  static constexpr bool kLatchFreeReaders = true;

  Chains() = default;
  Chains(const Chains&) = delete;
  Chains& operator=(const Chains&) = delete;

  static std::size_t extra_bytes(const Key& key) {
    if constexpr (Key::kFixedSize != 0) return 0;
    return key.size();
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    Way<Tx> way(chained::hash_of(key));
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    while (way.node != nullptr && !way.node->has(key, way.hash)) way.node = way.node->next.load();
    return answer(tx, way);
  }

  /// Finds several keys: found[i] answers keys[i]. kGroup keys advance together, one node at a time, so that their
  /// cache misses overlap.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool prefetched) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(keys.size() - first, kGroup);
      if (!find_group(tx, keys.subspan(first, count), found.subspan(first, count), prefetched)) return kRestart;
    }
    return true;
  }

  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx&, const Key& key, Hint hint) const {
    table_.prefetch(chained::hash_of(key), hint);
  }
  /// Prefetches the first node of the key's chain, if it may hold the key.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx&, const Key& key) const {
    const u64 hash = chained::hash_of(key);
    const Bucket* const bucket = table_.at(table_.guess(hash).number);
    Layout::Machine::prefetch(Word(bucket->word.load()).head_for(hash), Access::kRead);
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    Way<Tx> way(chained::hash_of(key));
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    if (way.node != nullptr) {
      while (way.node != nullptr && !way.node->has(key, way.hash)) way.node = way.node->next.load();
      if (way.node != nullptr) {
        if (how == Put::kInsert) return tx.confirm(false, way.at);
        if (!tx.upgrade(way.at)) return kRestart;
        value.change(way.node->value);
        return how == Put::kUpdate;
      }
      if (how != Put::kUpdate) way.word = counted_anew(way.word);
    }
    if (how == Put::kUpdate) return tx.confirm(false, way.at);
    Node* const last = way.word.ordered() ? last_of(way.word) : nullptr;
    Node* const node =
        tx.template make<Node>(key, way.hash, value.first(), last != nullptr ? nullptr : way.word.head());
    if (node == nullptr) [[unlikely]]
      return kNoMemory;
    if (!table_.upgrade(tx, way.hash, +1, way.at)) [[unlikely]]
      return kRestart;
    // Behind the last node the key needs a second store, of the link. It comes after the filter has the key, which only
    // lets readers without a latch walk the chain. So for each of them the later of the two makes the key appear.
    way.at->word.store((last != nullptr ? way.word : way.word.with_head(node)).with_key(way.hash).word());
    if (last != nullptr) last->next.store(node);
    return true;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    Way<Tx> way(chained::hash_of(key));
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    way.node = way.word.head();  // an erasure mostly finds its key, so the filter would only cost
    Node* before = nullptr;
    while (way.node != nullptr && !way.node->has(key, way.hash))
      before = std::exchange(way.node, way.node->next.load());
    if (way.node == nullptr || !wanted.fits(way.node->value)) return tx.confirm(false, way.at);
    if (!table_.upgrade(tx, way.hash, -1, way.at)) return kRestart;
    Node* const after = way.node->next.load();
    if (before == nullptr) {
      way.at->word.store(way.word.with_head(after).word());
    } else {
      before->next.store(after);
    }
    tx.retire(way.node, way.node->bytes());
    return true;
  }

  static bool asks_to_grow(const Key& key) { return Table::asks_to_grow(chained::hash_of(key)); }
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key&, const Growth& growth, Growth& after) {
    return table_.grow_in(tx, growth, after, Rules{});
  }
  u64 room() const { return table_.room(); }

  /// Returns the number of nodes that find_in visits.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    Way<Tx> way(chained::hash_of(key));
    if (!arrive(tx, way)) return kRestart;
    u64 nodes = 0;
    for (; way.node != nullptr; way.node = way.node->has(key, way.hash) ? nullptr : way.node->next.load()) ++nodes;
    return tx.confirm(nodes, way.at);
  }

  /// Collects the next pairs of a walk (indexes/growing/hand.h), chain by chain. The hash of a key alone decides in
  /// which chain it is.
  template <class Tx>
  Attempt<Hand> walk_in(Tx& tx, const Hand& hand, std::size_t most, Walked& pairs) const {
    return table_.walk_in(hand, most, pairs, [&](const Hand& at, Walked& out) { return take_in(tx, at, out); });
  }
  /// Frees every block, for memory that is not released in bulk (--alloc=malloc).
  template <class Pool>
  void free_all(Pool& pool) {
    for_each_node([&](Node* node) { pool.free(node, node->bytes()); });
    table_.free_all(pool);
  }

 protected:
  /// The position of a lookup: its bucket, then a node of the chain. It is at no node if the filter says that the key
  /// is absent.
  template <class Tx>
  struct Way {
    Way() = default;
    explicit Way(u64 h) : hash(h) {}
    u64 hash = 0;
    ReaderOf<Tx> at;
    Word word;
    Node* node = nullptr;
  };

  /// Goes to the key's bucket and its first node. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, Way<Tx>& way) const {
    u64 b, word;
    if (!table_.arrive_by_guess(tx, way.hash, b, way.at, word)) [[unlikely]]
      return false;
    way.word = Word(word);
    way.node = way.word.head_for(way.hash);
    return true;
  }

 private:
  static constexpr std::size_t kGroup = 16;

  /// Collects the pairs of the chain at the hand. Returns the bits of its bucket. A reader without a latch restarts
  /// beside a split, as after a miss (answer).
  template <class Tx>
  Attempt<u32> take_in(Tx& tx, const Hand& hand, Walked& pairs) const {
    Way<Tx> way(hand.hash());
    if (!arrive(tx, way)) return kRestart;
    for (const Node* node = way.word.head(); node != nullptr; node = node->next.load()) {
      if (hand.covers(node->hash()) && !pairs.push(node->key(), node->value.load())) break;
    }
    if constexpr (Layout::kLatchFreeReaders) {
      if (way.word.splitting() || Word(way.at->word.load()).bits() != way.word.bits()) return kRestart;
    }
    return tx.confirm(growing::BugFlags<typename Layout::Bugs::Flag>::kPassHalf ? 0 : way.word.bits(), way.at);
  }
  /// Returns the answer of a lookup that has reached its key's node, or the end of the chain.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<Found> answer(Tx& tx, const Way<Tx>& way) {
    if (way.node != nullptr) return tx.confirm(Found(way.node->value.load()), way.at);
    if constexpr (Layout::kLatchFreeReaders) {
      if (!Bugs::kTrustMiss && (way.word.splitting() || Word(way.at->word.load()).bits() != way.word.bits())) {
        return kRestart;
      }
    }
    return tx.confirm(Found(), way.at);
  }

  /// Finds up to kGroup keys together. Returns false to restart.
  template <class Tx>
  [[nodiscard]] bool find_group(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool prefetched) const {
    std::array<Way<Tx>, kGroup> ways;
    const u32 count = static_cast<u32>(keys.size());
    for (u32 i = 0; i < count; ++i) {
      ways[i].hash = chained::hash_of(keys[i]);
      if (!prefetched) table_.prefetch(ways[i].hash, Hint::kFind);
    }
    for (u32 i = 0; i < count; ++i) {
      if (!arrive(tx, ways[i])) return false;
      Layout::Machine::prefetch(ways[i].node, Access::kRead);
    }
    u64 on_the_way = ~u64{0} >> (64 - count);
    while (on_the_way != 0) {
      for (u64 left = on_the_way; left != 0; left &= left - 1) {
        const u32 i = static_cast<u32>(std::countr_zero(left));
        Way<Tx>& way = ways[i];
        if (way.node == nullptr || way.node->has(keys[i], way.hash)) {
          on_the_way &= ~(u64{1} << i);
          const auto one = answer(tx, way);
          if (!one) return false;
          found[i] = *one;
        } else {
          way.node = way.node->next.load();
          Layout::Machine::prefetch(way.node, Access::kRead);
        }
      }
    }
    return true;
  }

  /// Returns the last node of a chain that has nodes.
  [[gnu::noinline]] static Node* last_of(Word word) {
    Node* last = word.head();
    while (Node* const next = last->next.load()) last = next;
    return last;
  }
  /// Returns the word with an exact filter, after the filter has misled a reader. The nodes have just been read.
  [[gnu::noinline]] static Word counted_anew(Word word) {
    Word exact = word.without_keys();
    for (const Node* node = word.head(); node != nullptr; node = node->next.load())
      exact = exact.with_key(node->hash());
    return exact;
  }

  /// The growth rules of this table (indexes/growing/table.h).
  struct Rules {
    static bool crowded(u64 keys, u32 bits) { return 2 * keys > u64{3} << bits; }
    [[gnu::always_inline]] static void prefetch_chain(const Bucket& bucket, u32 nodes) {
      const Node* node = Word(bucket.word.load()).head();
      for (; nodes != 0 && node != nullptr; --nodes) node = node->next.load();
      Layout::Machine::prefetch(node, Access::kRead);
    }
    template <class Tx, class Reader>
    static Attempt<bool> split_in(Tx& tx, const Reader& old, const Reader& born, u64) {
      const Word word(old.word());
      if constexpr (Layout::kLatchFreeReaders) {
        if (!tx.upgrade(old, born)) return kRestart;
      } else {
        // The new bucket is not locked. While it is unborn, no attempt finds a chain there, and only an attempt that
        // has locked the old bucket stores to it. Its word is stored after its chain, so it is complete when it is
        // found.
        if (!tx.upgrade(old)) return kRestart;
      }
      split_chain(word, *old.node(), *born.node());
      return true;
    }
  };

  /// Splits a chain between its bucket and a new one: the keys with the next bit of the hash set move.
  static void split_chain(Word word, Bucket& old, Bucket& born) {
    const u32 bits = word.bits();
    const Word part = word.part(bits + 1);
    Word after[2] = {Word::empty(bits + 1), Word::empty(bits + 1)};
    const auto add = [&](Node* node, u64 hash, u64 side) {
      if (after[side].head() == nullptr) after[side] = part.with_head(node);
      after[side] = after[side].with_key(hash);
    };
    if (Layout::kLatchFreeReaders || Bugs::kPublishFirst) {
      for (Node* node = word.head(); node != nullptr; node = node->next.load())
        add(node, node->hash(), node->hash() >> bits & 1);
      // The new bucket is stored first: a reader that sees more bits in the old word goes to the new bucket.
      born.word.store(after[1].as_splitting().word());
      old.word.store(after[0].as_splitting().word());
    }
    Node* last[2] = {nullptr, nullptr};
    u64 before = 0;  // the side of the previous node
    for (Node* node = word.head(); node != nullptr;) {
      Node* const next = node->next.load();
      const u64 hash = node->hash(), own = hash >> bits & 1;
      add(node, hash, own);
      if (own != before && last[own] != nullptr) last[own]->next.store(node);
      last[own] = node;
      before = own;
      node = next;
    }
    if (last[1 - before] != nullptr) last[1 - before]->next.store(nullptr);
    born.word.store(after[1].word());
    old.word.store(after[0].word());
  }

  template <class Visit>
  void for_each_node(const Visit& visit) const {
    table_.for_each([&](const Bucket& bucket, u64) {
      for (Node* node = Word(bucket.word.load()).head(); node != nullptr;) {
        Node* const next = node->next.load();  // read first, since the visit may free the node
        visit(node);
        node = next;
      }
    });
  }

 protected:
  Table table_;
};

}  // namespace latchlab
