#pragma once
// `chained`: a hash table of chains, a node a key, so that nodes visited per fetch means what it means in the literature
// (Kumar, Burger et al.'s Wiscer measures VIP hashing by it). It grows by doubling when there are 1.5 keys a bucket, which leaves
// between .75 and 1.5; it does not shrink.
//
// A doubling is a great number of splits (buckets.h), done by those who insert: one of kAskOneIn fresh keys claims a run of
// buckets and splits them, each as an operation of its own. So no operation ever stands for the whole table, and where two
// claim at once each has its own run. How many keys there are is counted by those of one of kCountOneIn hashes, so that
// the counter is a line that is hardly ever written.
//
// For readers without a latch (kLatchFreeReaders) a key comes and goes by one store. A split has many, between two that mark
// both words as parting: who has found what he looks for has found it, and who has not asks the word again. If it was
// parting, or has more bits by now, links may have led him past the key, and he restarts.
#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "indexes/chained/buckets.h"
#include "indexes/chained/node.h"
#include "src/arch/prefetch.h"
#include "src/base/key.h"
#include "sync/attempt.h"

namespace latchlab {

template <class Layout, class KeyType>
class Chained {
  using Node = chained::Node<Layout, KeyType>;
  using Word = chained::Word<Node>;
  using Shape = chained::Shape;
  using Buckets = chained::Buckets<Layout, Node>;
  using Bucket = typename Buckets::BucketType;
  using Piece = typename Buckets::Piece;
  using Level = typename Buckets::Level;
  template <class Tx>
  using ReaderOf = decltype(std::declval<Tx&>().enter(std::declval<Bucket*>()));

 public:
  using Key = KeyType;
  using Found = std::optional<u64>;
  static constexpr std::string_view kName = "chained";
  static constexpr bool kOrdered = false;
  static constexpr bool kLatchFreeReaders = true;
  enum class Put : u8 { kInsert, kUpdate, kUpsert };

  Chained() = default;
  Chained(const Chained&) = delete;
  Chained& operator=(const Chained&) = delete;

  static std::size_t extra_bytes(const Key& key) {
    if constexpr (Key::kFixedSize != 0) return 0;
    return key.size();
  }

  template <class Tx>
  [[gnu::always_inline]] Attempt<Found> find_in(Tx& tx, const Key& key) const {
    const u64 hash = chained::hash_of(key);
    ReaderOf<Tx> at;
    Word word;
    if (!arrive(tx, hash, at, word)) [[unlikely]] return kRestart;
    const Node* node = word.head();
    while (node != nullptr && !node->has(key, hash)) node = node->next.load();
    return answer(tx, node, at, word);
  }

  /// The same for as many keys: found[i] is of keys[i]. kGroup go side by side, a node further at a time, so that the misses of
  /// one are waited for together with those of the others.
  template <class Tx>
  Attempt<bool> find_batch_in(Tx& tx, std::span<const Key> keys, std::span<Found> found) const {
    for (std::size_t first = 0; first < keys.size(); first += kGroup) {
      const std::size_t count = std::min(keys.size() - first, kGroup);
      if (!find_group(tx, keys.subspan(first, count), found.subspan(first, count))) return kRestart;
    }
    return true;
  }

  template <class Tx>
  Attempt<bool> put_in(Tx& tx, const Key& key, u64 value, Put how) {
    const u64 hash = chained::hash_of(key);
    ReaderOf<Tx> at;
    Word word;
    if (!arrive(tx, hash, at, word)) [[unlikely]] return kRestart;
    Node* node = word.head();
    while (node != nullptr && !node->has(key, hash)) node = node->next.load();
    if (node != nullptr) {
      if (how == Put::kInsert) return tx.confirm(false, at);
      if (!tx.upgrade(at)) return kRestart;
      node->value.store(value);
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return tx.confirm(false, at);
    node = tx.template make<Node>(key, hash, value, word.head());
    if (node == nullptr) return kNoMemory;
    if (!upgrade(tx, at, hash, +1)) return kRestart;
    at->store(word.with(node));
    return true;
  }

  template <class Tx>
  Attempt<bool> erase_in(Tx& tx, const Key& key) {
    const u64 hash = chained::hash_of(key);
    ReaderOf<Tx> at;
    Word word;
    if (!arrive(tx, hash, at, word)) [[unlikely]] return kRestart;
    Node* before = nullptr;
    Node* node = word.head();
    while (node != nullptr && !node->has(key, hash)) before = std::exchange(node, node->next.load());
    if (node == nullptr) return tx.confirm(false, at);
    if (!upgrade(tx, at, hash, -1)) return kRestart;
    Node* const after = node->next.load();
    if (before == nullptr) {
      at->store(word.with(after));
    } else {
      before->next.store(after);
    }
    tx.retire(node, node->bytes());
    return true;
  }

  /// What an operation that inserted does for the table's growth: a claim, then a split for each bucket of its run. Kept by the
  /// caller from one step to the next.
  class Growth {
   public:
    bool done() const { return step_ == Step::kDone; }
    /// Makes what the next step lacks, outside attempts. False when memory is out: a table that cannot grow is slow and not
    /// wrong.
    template <class Pool>
    [[nodiscard]] bool prepare(Pool& pool) {
      return level_.make(pool) && piece_.make(pool);
    }
    /// Gives back what others have made in the meantime.
    template <class Pool>
    void release(Pool& pool) {
      level_.release(pool);
      piece_.release(pool);
    }

   private:
    friend Chained;
    enum class Step : u8 { kClaim, kSplit, kDone };

    /// A block that a step lacks, and then has until it links it.
    template <class Block>
    struct Part {
      u64 lacking = 0;   // its entries
      u64 entries = 0;   // of the block: the table may have outgrown it
      u64 bytes = 0;     // of the pool
      Block* block = nullptr;

      bool has(u64 wanted) const { return block != nullptr && entries == wanted; }

      template <class Pool>
      [[nodiscard]] bool make(Pool& pool) {
        if (lacking == 0) return true;
        release(pool);
        const u64 before = pool.live();
        void* const at = pool.allocate(Block::bytes_for(lacking));
        if (at == nullptr) return false;
        *this = {.entries = lacking, .bytes = pool.live() - before, .block = new (at) Block(lacking)};
        return true;
      }
      template <class Pool>
      void release(Pool& pool) {
        if (block != nullptr) pool.free(std::exchange(block, nullptr), Block::bytes_for(entries));
      }
    };

    Step step_ = Step::kClaim;
    u32 bits_ = 0;              // each bucket of the run gets one more
    u64 next_ = 0, end_ = 0;    // of the run, what is left
    Part<Level> level_;
    Part<Piece> piece_;
  };

  /// Whether who has just inserted this key is to help.
  static bool asks_to_grow(const Key& key) { return (chained::hash_of(key) >> 32) % kAskOneIn == 0; }

  /// Bytes of its buckets, but for the first. Exact while no operation runs.
  u64 room() const { return meter_.room.load(); }

  /// One step; what is left afterwards.
  template <class Tx>
  Attempt<Growth> grow_in(Tx& tx, const Growth& growth) {
    return growth.step_ == Growth::Step::kClaim ? claim_in(tx, growth) : split_in(tx, growth);
  }

  /// Nodes that find_in visits.
  template <class Tx>
  Attempt<u64> visits_in(Tx& tx, const Key& key) const {
    const u64 hash = chained::hash_of(key);
    ReaderOf<Tx> at;
    Word word;
    if (!arrive(tx, hash, at, word)) return kRestart;
    u64 nodes = 0;
    for (const Node* node = word.head(); node != nullptr; node = node->has(key, hash) ? nullptr : node->next.load()) ++nodes;
    return tx.confirm(nodes, at);
  }

  /// Every pair, in no order, while nobody changes the table.
  template <class Visit>
  void for_each(Visit&& visit) const {
    std::string raw;
    for_each_node([&](const Node* node) {
      if constexpr (Key::kFixedSize != 0) {
        visit(node->key().raw(), node->value.load());
      } else {
        raw.clear();
        node->key().append_raw(raw);
        visit(std::string_view(raw), node->value.load());
      }
    });
  }
  /// Gives every block back, for memory that is not released in bulk (--alloc=malloc).
  template <class Pool>
  void free_all(Pool& pool) {
    for_each_node([&](Node* node) { pool.free(node, node->bytes()); });
    buckets_.free_all(pool);
  }

 private:
  static constexpr bool kTiny = Layout::Machine::kName == "simulated";   // where tables of a few keys grow
  static constexpr u32 kCountOneIn = kTiny ? 1 : 64;   // by hash, and all that are counted
  static constexpr u32 kAskOneIn = kTiny ? 1 : 16;     // ask
  static constexpr u64 kRun = kTiny ? 1 : 64;          // buckets of a claim: four for each key, so a doubling ends well before the next
  static constexpr std::size_t kGroup = 16;            // lookups of a batch that go side by side
  static constexpr u32 kMostHops = 2 * Buckets::kMostBits;   // of what makes sense: each hop changes at least one bit

  /// How many keys there are, in part.
  struct Meter {
    u8 tag() const { return 0; }
    [[no_unique_address]] typename Layout::Latch latch;
    typename Layout::template Cell<u64> counted;
    typename Layout::template Cell<u64> room;   // bytes
  };

  /// The bucket that should answer for the hash.
  u64 guess(u64 hash) const {
    const Shape shape(shape_.load());
    const u64 b = chained::low_bits(hash, shape.bits);
    return b < shape.claimed ? chained::low_bits(hash, shape.bits + 1) : b;
  }

  /// Goes to the bucket that answers for the hash. False where what was read makes no sense.
  template <class Tx>
  [[nodiscard, gnu::always_inline]] bool arrive(Tx& tx, u64 hash, ReaderOf<Tx>& at, Word& word) const {
    u64 b = guess(hash);
    for (u32 hops = 0; hops < kMostHops; ++hops) {
      if (Bucket* const bucket = buckets_.at(b)) [[likely]] {
        at = tx.enter(bucket);
        word = at->load();
        const u64 own = chained::low_bits(hash, word.bits());
        if (own == b) [[likely]] return true;   // and it is born: of the unborn, own is 0
        b = word.bits() != 0 ? own : chained::parent_of(b);
      } else {
        b = chained::parent_of(b);
      }
    }
    return false;
  }

  /// What a lookup says that came to the bucket by this word and went down its chain to `node`, or to the end.
  template <class Tx>
  [[gnu::always_inline]] static Attempt<Found> answer(Tx& tx, const Node* node, const ReaderOf<Tx>& at, Word word) {
    if (node != nullptr) return tx.confirm(Found(node->value.load()), at);
    if constexpr (Layout::kLatchFreeReaders) {
      if (!Layout::Bugs::kTrustMiss && (word.parting() || at->load().bits() != word.bits())) return kRestart;
    }
    return tx.confirm(Found(), at);
  }

  /// False to restart.
  template <class Tx>
  [[nodiscard]] bool find_group(Tx& tx, std::span<const Key> keys, std::span<Found> found) const {
    struct Way {
      u64 hash;
      ReaderOf<Tx> at;
      Word word;
      const Node* node;
    };
    std::array<Way, kGroup> ways;
    const u32 count = static_cast<u32>(keys.size());
    for (u32 i = 0; i < count; ++i) {
      ways[i].hash = chained::hash_of(keys[i]);
      prefetch_read(buckets_.at(guess(ways[i].hash)));
    }
    for (u32 i = 0; i < count; ++i) {
      Way& way = ways[i];
      if (!arrive(tx, way.hash, way.at, way.word)) return false;
      way.node = way.word.head();
      prefetch_read(way.node);
    }
    u64 on_the_way = ~u64{0} >> (64 - count);   // keys whose chain has not ended
    while (on_the_way != 0) {
      for (u64 left = on_the_way; left != 0; left &= left - 1) {
        const u32 i = static_cast<u32>(std::countr_zero(left));
        Way& way = ways[i];
        if (way.node == nullptr || way.node->has(keys[i], way.hash)) {
          on_the_way &= ~(u64{1} << i);
          const auto one = answer(tx, way.node, way.at, way.word);
          if (!one) return false;
          found[i] = *one;
        } else {
          way.node = way.node->next.load();
          prefetch_read(way.node);
        }
      }
    }
    return true;
  }

  static bool is_counted(u64 hash) { return (hash >> 32) % kCountOneIn == 0; }

  /// For a change of how many keys there are.
  template <class Tx>
  [[nodiscard]] bool upgrade(Tx& tx, const ReaderOf<Tx>& at, u64 hash, i64 change) {
    if (!is_counted(hash)) [[likely]] return tx.upgrade(at);
    auto meter = tx.enter(&meter_);
    if (!tx.upgrade(at, meter)) return false;
    meter->counted.store(meter->counted.load() + static_cast<u64>(change));
    return true;
  }

  /// Takes the next run of buckets, if the table grows or has to.
  template <class Tx>
  Attempt<Growth> claim_in(Tx& tx, const Growth& growth) {
    auto meter = tx.enter(&meter_);
    const Shape shape(shape_.load());
    const bool crowded = 2 * kCountOneIn * meter->counted.load() > u64{3} << shape.bits;
    Growth after = growth;
    if ((shape.claimed == 0 && !crowded) || shape.bits + 1 == Buckets::kMostBits) {
      after.step_ = Growth::Step::kDone;
      return tx.confirm(after, meter);
    }
    auto& level_link = buckets_.level(shape.bits);
    Level* const level = level_link.load();
    if (const u64 entries = Buckets::pieces_in(shape.bits); level == nullptr && !growth.level_.has(entries)) {
      after.level_.lacking = entries;
      return tx.confirm(after, meter);
    }
    auto& piece_link = (level != nullptr ? level : growth.level_.block)->piece(shape.claimed / Buckets::kPiece);
    Piece* const piece = piece_link.load();
    if (const u64 entries = Buckets::buckets_in_piece(shape.bits); piece == nullptr && !growth.piece_.has(entries)) {
      after.piece_.lacking = entries;
      return tx.confirm(after, meter);
    }
    after.step_ = Growth::Step::kSplit;
    after.bits_ = shape.bits;
    after.next_ = shape.claimed;
    after.end_ = std::min(shape.claimed + kRun, u64{1} << shape.bits);
    if (!tx.upgrade(meter)) return kRestart;
    u64 room = meter->room.load();
    if (piece == nullptr) link(piece_link, after.piece_, room);
    if (level == nullptr) link(level_link, after.level_, room);
    meter->room.store(room);
    shape_.store(after.end_ == u64{1} << shape.bits ? Shape(shape.bits + 1, 0).word() : Shape(shape.bits, after.end_).word());
    return after;
  }

  template <class Link, class Part>
  static void link(Link& link, Part& part, u64& room) {
    room += part.bytes;
    link.store(part.block);
    part = {};
  }

  /// Splits the next bucket of the run, or first the one that it is to come from: others may be late.
  template <class Tx>
  Attempt<Growth> split_in(Tx& tx, const Growth& growth) {
    ReaderOf<Tx> at;
    Word word;
    u64 b = growth.next_;
    for (;; b = chained::parent_of(b)) {
      Bucket* const bucket = buckets_.at(b);
      if (bucket == nullptr) continue;
      at = tx.enter(bucket);
      word = at->load();
      if (word.bits() != 0) break;
    }
    Growth after = growth;
    const u32 bits = word.bits();
    if (b == growth.next_ && bits >= growth.bits_) {
      if (++after.next_ == growth.end_) after.step_ = Growth::Step::kDone;
      if (bits > growth.bits_) return tx.confirm(after, at);
    }
    Bucket* const born = buckets_.at(b + (u64{1} << bits));
    if (born == nullptr) return kRestart;   // only a scout comes here: who has claimed sees the pieces of all claims before
    auto sibling = tx.enter(born);
    if (!tx.upgrade(at, sibling)) return kRestart;
    part(word, *at.node(), *born);
    return after;
  }

  /// Parts a chain between its bucket and a new one, whose bit is set.
  static void part(Word word, Bucket& old, Bucket& born) {
    const u32 bits = word.bits();
    const auto side = [bits](const Node* node) { return node->hash() >> bits & 1; };
    Node* head[2] = {nullptr, nullptr};
    for (Node* node = word.head(); node != nullptr && (head[0] == nullptr || head[1] == nullptr); node = node->next.load()) {
      if (head[side(node)] == nullptr) head[side(node)] = node;
    }
    const Word parted[2] = {Word(bits + 1, head[0]), Word(bits + 1, head[1])};
    if constexpr (Layout::kLatchFreeReaders) {
      // The new one first: who sees that the old one has more bits goes there.
      born.store(parted[1].as_parting());
      old.store(parted[0].as_parting());
    }
    Node* last[2] = {nullptr, nullptr};
    u64 before = 0;   // the side of the node before
    for (Node* node = word.head(); node != nullptr;) {
      Node* const next = node->next.load();
      const u64 own = side(node);
      if (own != before && last[own] != nullptr) last[own]->next.store(node);
      last[own] = node;
      before = own;
      node = next;
    }
    if (last[1 - before] != nullptr) last[1 - before]->next.store(nullptr);
    born.store(parted[1]);
    old.store(parted[0]);
  }

  template <class Visit>
  void for_each_node(const Visit& visit) const {
    buckets_.for_each([&](const Bucket& bucket) {
      for (Node* node = bucket.load().head(); node != nullptr;) {
        Node* const next = node->next.load();   // the visit may free the node
        visit(node);
        node = next;
      }
    });
  }

  mutable Buckets buckets_;
  /// Where to look first. Stored under the latch of meter_, read by everybody and never proved.
  alignas(kFalseSharingBytes) typename Layout::template Cell<u64> shape_{Shape(Buckets::kFirstBits, 0).word()};
  alignas(kFalseSharingBytes) mutable Meter meter_;
};

}  // namespace latchlab
