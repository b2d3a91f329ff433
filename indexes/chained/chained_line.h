#pragma once
// `chained_line`: a hash table of chains whose links are cache lines of three pairs each, the first of them the bucket
// itself (line.h): a lookup reads one line, but where more than three keys share a bucket. Keys are u64. It grows by
// doubling (indexes/growing/table.h) when there are 2.25 keys a bucket, which leaves between 1.125 and 2.25; it does
// not shrink.
//
// A bucket's latch guards its chain. Keys come and go in slots, which other keys take over, so whoever reads a pair
// must prove the bucket: no readers without a latch (rowex).
#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "indexes/chained/hash.h"
#include "indexes/chained/line.h"
#include "indexes/growing/table.h"
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
  static constexpr std::string_view kName = "chained_line";
  static constexpr bool kOrdered = false;
  static constexpr bool kBearsScouts = true;  // links lead on and never back

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

  [[gnu::always_inline]] void prefetch(const Key& key, Hint) const {
    Layout::Machine::prefetch(table_.at(table_.guess(chained::hash_of(key))), Access::kWrite);
  }

  /// The same for as many keys: found[i] is of keys[i]. kGroup buckets are asked for side by side.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t end = std::min(keys.size(), first + kGroup);
      for (std::size_t i = first; i < end; ++i) {
        Layout::Machine::prefetch(table_.at(table_.guess(chained::hash_of(keys[i]))), Access::kRead);
      }
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
  Attempt<bool> put_in(Tx& tx, const Key& key, u64 value, Put how) {
    Way<Tx> way(key);
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    const u64 free = chained::free_key(way.number);
    Pairs* room = nullptr;  // the first with a free slot
    for (Line line(way.at.node(), way.word); !line.over(); line.step()) {
      Pairs& pairs = line.pairs();
      if (const u32 slot = pairs.slot_of(key.raw()); slot != kSlots) {
        if (how == Put::kInsert) return tx.confirm(false, way.at);
        if (!tx.upgrade(way.at)) return kRestart;
        pairs.value[slot].store(value);
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
    room->put(room->slot_of(free), key.raw(), value);
    if (node != nullptr) way.at->word.store(way.word.with(node).word());
    return true;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key) {
    Way<Tx> way(key);
    if (!arrive(tx, way)) [[unlikely]]
      return kRestart;
    const u64 free = chained::free_key(way.number);
    for (Line line(way.at.node(), way.word); !line.over(); line.step()) {
      const u32 slot = line.pairs().slot_of(key.raw());
      if (slot == kSlots) continue;
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
    return table_.grow_in(tx, growth, after, Rules<Tx>{tx});
  }
  u64 room() const { return table_.room(); }

  /// Lines that find_in reads.
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

  /// Every pair, in no order, while nobody changes the table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    table_.for_each([&](const Bucket& bucket, u64 number) {
      const auto show = [&](const Pairs& pairs) {
        for (u32 slot = 0; slot < kSlots; ++slot) {
          const u64 key = pairs.key[slot].load();
          if (key != chained::free_key(number)) visit(key, pairs.value[slot].load());
        }
      };
      show(bucket.pairs);
      for (const Node* node = Word(bucket.word.load()).head(); node != nullptr; node = node->next.load())
        show(node->pairs);
    });
  }
  /// Gives every block back, for memory that is not released in bulk (--alloc=malloc).
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
  static constexpr u32 kMostRetired = 4;  // nodes of a split

  static bool is_empty(const Pairs& pairs, u64 free) {
    return pairs.key[0].load() == free && pairs.key[1].load() == free && pairs.key[2].load() == free;
  }

  /// To the bucket of a key.
  template <class Tx>
  struct Way {
    explicit Way(const Key& key) : hash(chained::hash_of(key)) {}
    u64 hash;
    u64 number = 0;  // of the bucket
    ReaderOf<Tx> at;
    Word word;
  };
  /// False to restart.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, Way<Tx>& way) const {
    way.number = table_.guess(way.hash);
    u64 word = 0;
    if (!table_.arrive(tx, way.hash, way.number, way.at, word)) [[unlikely]]
      return false;
    way.word = Word(word);
    return true;
  }

  /// From line to line of a chain: the bucket, then its nodes.
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
    /// Takes the node out of its chain; the bucket is upgraded.
    void unlink(Bucket& bucket, Word word) const {
      if (before_ == nullptr) {
        bucket.word.store(word.with(next_).word());
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

  /// How the table grows (indexes/growing/table.h).
  template <class Tx>
  struct Rules {
    Tx& tx;

    static bool crowded(u64 keys, u32 bits) { return 4 * keys > u64{9} << bits; }

    /// Splits a chain between its bucket and a new one, line by line: a node whose pairs have been read is written to
    /// again by whichever side needs one. The sides never need more than have been read: of j lines with m <= 3 j pairs
    /// they take two buckets and at most (m - 2) / 3 < j nodes, so at most the j - 1 that are nodes. They take them in
    /// their order, so that every link, old or new, leads on. What is left over is retired, as much of it as an attempt
    /// may retire.
    void split(Bucket& old, Bucket& born, u64 word, u64 number) const {
      const u32 bits = growing::bits_of(word);
      const u64 free = chained::free_key(number);
      Node* unused = Word(word).head();
      std::array<Side, 2> sides{Side(old), Side(born)};
      for (Line line(&old, Word(word)); !line.over(); line.step()) {
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
      while (unused != nullptr) sides[0].append(std::exchange(unused, unused->next.load()));  // for keys to come
      born.word.store(Word(bits + 1, sides[1].first).word());
      old.word.store(Word(bits + 1, sides[0].first).word());
    }
  };
  /// One of the two chains that a split makes.
  struct Side {
    explicit Side(Bucket& bucket) : pairs(&bucket.pairs) {}
    Pairs* pairs;  // of the last line
    Node* first = nullptr;
    Node* last = nullptr;
    u32 used = 0;  // slots of the last line

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
