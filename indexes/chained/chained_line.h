#pragma once
// `chained_line`: a hash table of chains of cache lines. Each line holds three pairs, and the first line is the bucket
// itself (line.h). So a lookup reads one line, unless more than three keys share a bucket. Keys are u64. The table
// grows by doubling (indexes/growing/table.h) at 2.25 keys a bucket, which leaves between 1.125 and 2.25. It does not
// shrink.
//
// A bucket's latch guards its chain. A slot is reused by other keys, so a reader must validate the bucket of the pair
// that it read. Hence there are no readers without a latch (rowex).
#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "indexes/chained/hash.h"
#include "indexes/chained/line.h"
#include "indexes/chained/seeded_bugs.h"
#include "indexes/growing/table.h"
#include "indexes/walked_pairs.h"
#include "src/base/key.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class ChainedLine {
  using Bucket = chained::LineBucket<Layout>;
  using Node = chained::LineNode<Layout>;
  using Pairs = chained::Pairs<Layout>;
  using Word = chained::Word<Node>;
  using Table = growing::Table<Layout, Bucket>;
  template <class Tx>
  using ReaderOf = typename Table::template ReaderOf<Tx>;
  static constexpr u32 kSlots = Pairs::kSlots;

 public:
  using Key = KeyType;
  using Growth = typename Table::Growth;
  using Hand = growing::Hand;
  using Walked = WalkedPairs<Key>;
  static constexpr std::string_view kName = "chained_line";
  static constexpr bool kOrdered = false;
  static constexpr bool kKeysAreNumbers = true;
  static constexpr bool kBearsScouts = true;  // a chain's links never form a cycle

  ChainedLine() = default;
  ChainedLine(const ChainedLine&) = delete;
  ChainedLine& operator=(const ChainedLine&) = delete;

  static std::size_t extra_bytes(const Key&) { return 0; }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    Way<Tx> way(key);
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    if (const u32 slot = way.at->pairs.slot_of(key.raw()); slot != kSlots) [[likely]] {
      return tx.confirm(Found(way.at->pairs.value[slot].load()), way.at);
    }
    for (const Node* node = way.word.head(); node != nullptr; node = node->next.load()) {
      if (const u32 slot = node->pairs.slot_of(key.raw()); slot != kSlots) {
        return tx.confirm(Found(node->pairs.value[slot].load()), way.at);
      }
    }
    return tx.confirm(Found(), way.at);
  }

  template <class Tx>
  [[gnu::always_inline]] void prefetch_in(Tx&, const Key& key, Hint hint) const {
    table_.prefetch(chained::hash_of(key), hint);
  }
  /// Prefetches the first node of the key's chain.
  template <class Tx>
  [[gnu::always_inline]] void prefetch_further_in(Tx&, const Key& key) const {
    const Bucket* const bucket = table_.at(table_.guess(chained::hash_of(key)).number);
    Layout::Machine::prefetch(Word(bucket->word.load()).head(), Access::kRead);
  }

  /// Finds several keys: found[i] answers keys[i]. The buckets of kGroup keys are prefetched together.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found, bool prefetched) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t end = std::min(keys.size(), first + kGroup);
      for (std::size_t i = first; i < end && !prefetched; ++i) prefetch_in(tx, keys[i], Hint::kFind);
      for (std::size_t i = first; i < end; ++i) {
        const auto one = find_in(tx, keys[i]);
        if (!one) [[unlikely]]
          return kRestart;
        found[i] = *one;
      }
    }
    return true;
  }

  template <class Tx>
  Attempt<bool> put_in(Tx& tx, const Key& key, const auto value, Put how) {
    Way<Tx> way(key);
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    const u64 free = chained::free_key(way.number);
    Pairs* room = nullptr;  // the first pairs with a free slot
    for (Line line(way.at.node(), way.word); !line.over(); line.step()) {
      Pairs& pairs = line.pairs();
      if (const u32 slot = pairs.slot_of(key.raw()); slot != kSlots) {
        if (how == Put::kInsert) return tx.confirm(false, way.at);
        if (!tx.upgrade(way.at)) return kRestart;
        value.change(pairs.value[slot]);
        return how == Put::kUpdate;
      }
      if (room == nullptr && pairs.slot_of(free) != kSlots) room = &pairs;
    }
    if (how == Put::kUpdate) return tx.confirm(false, way.at);
    Node* node = nullptr;
    if (room == nullptr) {
      node = tx.template make<Node>(free, way.word.head());
      if (node == nullptr) return kNoMemory;
      room = &node->pairs;
    }
    if (!table_.upgrade(tx, way.hash, +1, way.at)) return kRestart;
    room->put(room->slot_of(free), key.raw(), value.first());
    if (node != nullptr) way.at->word.store(way.word.with_head(node).word());
    return true;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key, const auto& wanted) {
    Way<Tx> way(key);
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    const u64 free = chained::free_key(way.number);
    for (Line line(way.at.node(), way.word); !line.over(); line.step()) {
      const u32 slot = line.pairs().slot_of(key.raw());
      if (slot == kSlots) continue;
      if (!wanted.fits(line.pairs().value[slot])) return tx.confirm(false, way.at);
      if (!table_.upgrade(tx, way.hash, -1, way.at)) return kRestart;
      line.pairs().key[slot].store(free);
      if (Node* const node = line.node(); node != nullptr && is_empty(node->pairs, free)) {
        line.unlink(*way.at.node(), way.word);
        tx.retire(node, sizeof(Node));
      }
      return true;
    }
    return tx.confirm(false, way.at);
  }

  static bool asks_to_grow(const Key& key) { return Table::asks_to_grow(chained::hash_of(key)); }
  template <class Tx>
  Attempt<StepResult> maintain_in(Tx& tx, const Key&, const Growth& growth, Growth& after) {
    return table_.grow_in(tx, growth, after, Rules<Tx>{});
  }
  u64 room() const { return table_.room(); }

  /// Returns the number of lines that find_in reads.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    Way<Tx> way(key);
    if (!arrive(tx, way)) return kRestart;
    u64 lines = 0;
    for (Line line(way.at.node(), way.word); !line.over(); line.step()) {
      ++lines;
      if (line.pairs().slot_of(key.raw()) != kSlots) break;
    }
    return tx.confirm(lines, way.at);
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
    table_.for_each([&](Bucket& bucket, u64) {
      for (Node* node = Word(bucket.word.load()).head(); node != nullptr;) {
        Node* const after = node->next.load();
        pool.free(node, sizeof(Node));
        node = after;
      }
    });
    table_.free_all(pool);
  }

 private:
  static constexpr std::size_t kGroup = 16;
  static constexpr u32 kMostRetired = 4;  // limits the nodes that one split retires

  static bool is_empty(const Pairs& pairs, u64 free) {
    return pairs.key[0].load() == free && pairs.key[1].load() == free && pairs.key[2].load() == free;
  }

  /// The place where a lookup begins: the key's bucket.
  template <class Tx>
  struct Way {
    explicit Way(const Key& key) : hash(chained::hash_of(key)) {}
    u64 hash;
    u64 number = 0;  // of the bucket
    ReaderOf<Tx> at;
    Word word;
  };
  /// Goes to the key's bucket. Returns false to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, Way<Tx>& way) const {
    u64 word;
    if (!table_.arrive_by_guess(tx, way.hash, way.number, way.at, word)) [[unlikely]]
      return false;
    way.word = Word(word);
    return true;
  }

  /// Collects the pairs of the chain at the hand. Returns the bits of its bucket.
  template <class Tx>
  Attempt<u32> take_in(Tx& tx, const Hand& hand, Walked& walked) const {
    u64 number = 0, word = 0;
    ReaderOf<Tx> at;
    if (!table_.arrive_by_guess(tx, hand.hash(), number, at, word)) return kRestart;
    const u64 free = chained::free_key(number);
    for (Line line(at.node(), Word(word)); !line.over(); line.step()) {
      for (u32 slot = 0; slot < kSlots; ++slot) {
        const Key key(line.pairs().key[slot].load());
        if (key.raw() == free || !hand.covers(chained::hash_of(key))) continue;
        if (!walked.push(key, line.pairs().value[slot].load())) return tx.confirm(0u, at);
      }
    }
    return tx.confirm(Word(word).bits(), at);
  }

  /// A walk over the lines of a chain: the bucket, then its nodes.
  class Line {
   public:
    Line(Bucket* bucket, Word word) : pairs_(&bucket->pairs), next_(word.head()) {}
    bool over() const { return pairs_ == nullptr; }
    Pairs& pairs() const { return *pairs_; }
    Node* node() const { return node_; }  // null: the bucket
    void step() {
      before_ = node_;
      node_ = next_;
      pairs_ = node_ == nullptr ? nullptr : &node_->pairs;
      next_ = node_ == nullptr ? nullptr : node_->next.load();
    }
    /// Unlinks the node from its chain. The bucket must be upgraded.
    void unlink(Bucket& bucket, Word word) const {
      if (before_ == nullptr) {
        bucket.word.store(word.with_head(next_).word());
      } else {
        before_->next.store(next_);
      }
    }

   private:
    Pairs* pairs_;
    Node* before_ = nullptr;
    Node* node_ = nullptr;
    Node* next_;
  };

  /// The growth rules of this table (indexes/growing/table.h).
  template <class Tx>
  class Rules {
   public:
    static bool crowded(u64 keys, u32 bits) { return 4 * keys > u64{9} << bits; }

    /// Splits a chain between its bucket and a new one, line by line. A side that needs a node reuses one whose pairs
    /// have been read already.
    ///
    /// Lemma: the sides never need more nodes than have been read. The j lines read so far are the bucket and j - 1
    /// nodes, and hold m <= 3 j pairs. The sides need two buckets and at most (m - 2) / 3 < j nodes, so at most j - 1.
    ///
    /// The sides take nodes in chain order, so every link, old or new, leads forward. The remaining nodes are retired,
    /// up to the number that one attempt may retire.
    static Attempt<bool> split_in(Tx& tx, const ReaderOf<Tx>& old, const ReaderOf<Tx>& born, u64 number) {
      const Word word(old.word());
      // The new bucket is not locked. While it is unborn, no attempt finds pairs there, and only an attempt that has
      // locked the old bucket stores to it. Its word is stored after its pairs, so it is complete when it is found.
      if (!tx.upgrade(old)) return kRestart;
      split(tx, *old.node(), *born.node(), word, chained::free_key(number));
      return true;
    }

   private:
    static void split(Tx& tx, Bucket& old, Bucket& born, Word word, u64 free) {
      const u32 bits = word.bits();
      Node* unused = word.head();
      born.pairs.clear(free);
      if (chained::BugFlags<typename Layout::Bugs::Flag>::kLineFirst) born.word.store(Word::empty(bits + 1).word());
      std::array<Side, 2> sides{Side(old), Side(born)};
      for (Line line(&old, word); !line.over(); line.step()) {
        std::array<u64, kSlots> keys, values;
        for (u32 slot = 0; slot < kSlots; ++slot) {
          keys[slot] = line.pairs().key[slot].load();
          values[slot] = line.pairs().value[slot].load();
          line.pairs().key[slot].store(free);
        }
        for (u32 slot = 0; slot < kSlots; ++slot) {
          if (keys[slot] != free)
            sides[chained::hash_of(Key(keys[slot])) >> bits & 1].add(keys[slot], values[slot], unused);
        }
      }
      for (u32 i = 0; i < kMostRetired && unused != nullptr; ++i) {
        Node* const node = std::exchange(unused, unused->next.load());
        tx.retire(node, sizeof(Node));
      }
      // An attempt may retire no more, so the other nodes stay in the chain, empty, as room for future keys.
      while (unused != nullptr) sides[0].append(std::exchange(unused, unused->next.load()));
      born.word.store(Word::empty(bits + 1).with_head(sides[1].first).word());
      old.word.store(Word::empty(bits + 1).with_head(sides[0].first).word());
    }
  };
  /// One of the two chains that a split makes.
  struct Side {
    explicit Side(Bucket& bucket) : pairs(&bucket.pairs) {}
    Pairs* pairs;  // the pairs of the last line
    Node* first = nullptr;
    Node* last = nullptr;
    u32 used = 0;  // number of used slots in the last line

    void add(u64 key, u64 value, Node*& unused) {
      if (used == kSlots) {
        append(std::exchange(unused, unused->next.load()));
        used = 0;
      }
      pairs->put(used++, key, value);
    }
    void append(Node* node) {
      node->next.store(nullptr);
      if (last == nullptr) {
        first = node;
      } else {
        last->next.store(node);
      }
      last = node;
      pairs = &node->pairs;
    }
  };

  Table table_;
};

}  // namespace latchlab
