#pragma once
// The buckets of a chained table that grows beside its readers, without a moment at which all of it moves.
//
//     bucket b with k bits    the keys whose hash ends in the k bits of b
//     split                   b with k bits -> b and b + 2^k, with k + 1 bits each
//     unborn                  no split has made it: its keys are in the bucket whose number lacks b's highest bit
//
// Of every hash exactly one bucket says that it is its own, and whoever has come to a bucket sees in its word whether he is
// there. So where to look first is a hint that nobody has to prove (`shape`), splits happen in any order, and who
// looks up proves the bucket and nothing else.
//
// Buckets have numbers and never move. Level m, 2^m of them, is made of pieces, linked one by one as splits come to them.
#include <algorithm>
#include <bit>
#include <new>

#include "src/base/types.h"

namespace latchlab::chained {

/// What a bucket knows: the first node of its chain, and the bits of the hash that it answers for (0: unborn).
template <class Node>
class Word {
 public:
  constexpr Word() = default;
  explicit constexpr Word(u64 word) : word_(word) {}
  Word(u32 bits, Node* head) : word_(u64{bits} << kShift | reinterpret_cast<u64>(head)) {}

  u64 word() const { return word_; }
  u32 bits() const { return static_cast<u32>(word_ >> kShift); }
  Node* head() const { return reinterpret_cast<Node*>(word_ & ((u64{1} << kShift) - 2)); }
  Word with(Node* head) const { return Word(bits(), head); }

  /// While the links of its chain are being changed by a split; nodes are at even addresses.
  bool parting() const { return (word_ & 1) != 0; }
  Word as_parting() const { return Word(word_ | 1); }

 private:
  static constexpr u32 kShift = 56;
  u64 word_ = 0;
};

/// How far the table has grown: buckets below `claimed` are split from `bits` to one more, or about to be.
struct Shape {
  u32 bits;
  u64 claimed;

  explicit Shape(u64 word) : bits(static_cast<u32>(word >> kShift)), claimed(word & ((u64{1} << kShift) - 1)) {}
  Shape(u32 b, u64 c) : bits(b), claimed(c) {}
  u64 word() const { return u64{bits} << kShift | claimed; }

 private:
  static constexpr u32 kShift = 56;
};

/// The low bits of a hash.
constexpr u64 low_bits(u64 hash, u32 bits) { return hash & ((u64{1} << bits) - 1); }
/// The bucket that holds the keys of b while b is unborn. b is not 0.
constexpr u64 parent_of(u64 b) { return b & ~std::bit_floor(b); }

template <class Layout, class Node>
struct Bucket {
  Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;

  Word<Node> load() const { return Word<Node>(word.load()); }
  void store(Word<Node> to) { word.store(to.word()); }
  u8 tag() const { return 0; }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;
};

template <class Layout, class Node>
class Buckets {
  // On the Simulated machine tables of a few keys grow.
  static constexpr bool kTiny = Layout::Machine::kName == "simulated";

 public:
  using BucketType = Bucket<Layout, Node>;
  static constexpr u32 kFirstBits = kTiny ? 1 : 6;
  static constexpr u64 kFirst = u64{1} << kFirstBits;   ///< buckets that are there from the beginning
  static constexpr u64 kPiece = kTiny ? 2 : 4096;       ///< of one block, or fewer in a level that has fewer
  static constexpr u32 kMostBits = 48;

  /// A block of buckets, all unborn.
  class Piece {
   public:
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(BucketType); }
    explicit Piece(u64 count) {
      for (u64 i = 0; i < count; ++i) new (&first_[i]) BucketType;
    }
    BucketType* at(u64 i) { return &first_[i]; }

   private:
    union {
      BucketType first_[1];   // `count` of them
    };
  };
  /// The pieces of a level, none linked.
  class Level {
   public:
    using Link = typename Layout::template Cell<Piece*>;
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(Link); }
    explicit Level(u64 count) {
      for (u64 i = 0; i < count; ++i) new (&first_[i]) Link;
    }
    Link& piece(u64 i) { return first_[i]; }

   private:
    union {
      Link first_[1];   // `count` of them
    };
  };

  Buckets() {
    for (auto& bucket : first_) bucket.store(Word<Node>(kFirstBits, nullptr));
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  /// Null where its piece is not linked yet: it is unborn.
  [[gnu::always_inline]] BucketType* at(u64 b) const {
    if (b < kFirst) return &first_[b];
    Level* const level = level_[level_of(b)].load();
    if (level == nullptr) [[unlikely]] return nullptr;
    const u64 place = b - std::bit_floor(b);
    Piece* const piece = level->piece(place / kPiece).load();
    if (piece == nullptr) [[unlikely]] return nullptr;
    return piece->at(place % kPiece);
  }

  /// Every bucket that has memory, unborn ones too.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (auto& bucket : first_) visit(bucket);
    for_each_piece([&](Piece* piece, u32 level) {
      for (u64 i = 0; i < buckets_in_piece(level); ++i) visit(*piece->at(i));
    });
  }
  /// Gives the memory of all but the first back.
  template <class Pool>
  void free_all(Pool& pool) {
    for_each_piece([&](Piece* piece, u32 level) { pool.free(piece, Piece::bytes_for(buckets_in_piece(level))); });
    for (u32 m = kFirstBits; m < kMostBits; ++m) {
      if (Level* const level = level_[m].load()) pool.free(level, Level::bytes_for(pieces_in(m)));
    }
  }

  static u32 level_of(u64 b) { return static_cast<u32>(std::bit_width(b)) - 1; }
  static u64 buckets_in_piece(u32 level) { return std::min(kPiece, u64{1} << level); }
  static u64 pieces_in(u32 level) { return (u64{1} << level) / buckets_in_piece(level); }

  typename Layout::template Cell<Level*>& level(u32 m) { return level_[m]; }
  const typename Layout::template Cell<Level*>& level(u32 m) const { return level_[m]; }

 private:
  template <class Visit>
  void for_each_piece(const Visit& visit) const {
    for (u32 m = kFirstBits; m < kMostBits; ++m) {
      Level* const level = level_[m].load();
      for (u64 i = 0; level != nullptr && i < pieces_in(m); ++i) {
        if (Piece* const piece = level->piece(i).load()) visit(piece, m);
      }
    }
  }

  mutable BucketType first_[kFirst];
  typename Layout::template Cell<Level*> level_[kMostBits];
};

}  // namespace latchlab::chained
