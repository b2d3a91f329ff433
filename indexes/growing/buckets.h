#pragma once
// The buckets of a hash table that grows beside its readers, without a moment at which all of it moves.
//
//     bucket b with k bits    the keys whose hash ends in the k bits of b
//     split                   b with k bits -> b and b + 2^k, with k + 1 bits each
//     unborn                  no split has made it: its keys are in the bucket whose number lacks b's highest bit
//
// Of every hash exactly one bucket says that it is its own, and whoever has come to a bucket sees in its word whether
// he is there. So where to look first is a hint that nobody has to prove (Table::guess), splits happen in any order,
// and who looks up proves the bucket and nothing else. (Linear hashing of Litwin, VLDB 1980, without its order.)
//
// Buckets have numbers and never move. Level m, 2^m of them, is made of pieces, linked one by one as splits come to
// them.
#include <algorithm>
#include <bit>
#include <new>

#include "src/base/scale.h"
#include "src/base/types.h"

namespace latchlab::growing {

/// The low bits of a hash.
constexpr u64 low_bits(u64 hash, u32 bits) { return hash & ((u64{1} << bits) - 1); }
/// The bucket that holds the keys of b while b is unborn. b is not 0.
constexpr u64 parent_of(u64 b) { return b & ~std::bit_floor(b); }

/// What a bucket is to its table: the uppermost eight bits of `word` are the bits of the hash that it answers for, 0
/// while it is unborn.
template <class B>
concept BucketOf = requires(B& bucket) {
  new (&bucket) B(u64{});  // unborn, with its number
  bucket.word.load();
};
constexpr u32 kWordShift = 56;
constexpr u32 bits_of(u64 word) { return static_cast<u32>(word >> kWordShift); }

template <class Layout, BucketOf Bucket>
class Buckets {
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  static constexpr u64 kFirst = kTiny ? 2 : std::bit_floor(u64{256} / sizeof(Bucket));  ///< there from the beginning
  static constexpr u32 kFirstBits = std::countr_zero(kFirst);
  static_assert(kFirstBits >= 1, "no bits say that a bucket is unborn");
  /// Of one block, at most.
  static constexpr u64 kPiece = kTiny ? 2 : std::bit_floor((u64{64} << 10) / sizeof(Bucket));
  static constexpr u32 kMostBits = 32;

  /// A block of buckets, all unborn.
  class Piece {
   public:
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(Bucket); }
    /// `first`: the number of the first.
    Piece(u64 count, u64 first) {
      for (u64 i = 0; i < count; ++i) new (&bucket_[i]) Bucket(first + i);
    }

   private:
    union {
      Bucket bucket_[1];  // `count` of them
    };
  };

  /// Where the pieces of a level are, none linked.
  class Level {
   public:
    using Link = typename Layout::template Cell<u64>;
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(Link); }
    Level(u64 count, u64) {
      for (u64 i = 0; i < count; ++i) new (&link_[i]) Link;
    }

   private:
    union {
      Link link_[1];  // `count` of them
    };
  };
  using Link = typename Level::Link;

  Buckets() {
    for (u64 b = 0; b < kFirst; ++b) (new (&first_[b]) Bucket(b))->word.store(u64{kFirstBits} << kWordShift);
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  /// Null where its piece is not linked yet: it is unborn.
  [[gnu::always_inline]] Bucket* at(u64 b) {
    if (b < kFirst) return &first_[b];
    const u64 level = level_[level_of(b)].load();
    if (level == 0) [[unlikely]]
      return nullptr;
    const u64 piece = link_in(level, b).load();
    if (piece == 0) [[unlikely]]
      return nullptr;
    return reinterpret_cast<Bucket*>(piece + b % kPiece * sizeof(Bucket));
  }

  // Links hold addresses, taken back by what stands before the first of a level or of a small one's only piece, so that
  // `at` counts from bucket 0 everywhere.
  Link& level(u32 m) { return level_[m]; }
  /// The link of the piece of bucket b, given what its level's link holds.
  static Link& link_in(u64 level, u64 b) { return *reinterpret_cast<Link*>(level + b / kPiece * sizeof(Link)); }
  static u64 address(const Level* level, u32 m) {
    return reinterpret_cast<u64>(level) - (u64{1} << m) / kPiece * sizeof(Link);
  }
  static u64 address(const Piece* piece, u32 m) {
    return reinterpret_cast<u64>(piece) - (u64{1} << m) % kPiece * sizeof(Bucket);
  }

  static u32 level_of(u64 b) { return static_cast<u32>(std::bit_width(b)) - 1; }
  static u64 buckets_in_piece(u32 level) { return std::min(kPiece, u64{1} << level); }
  static u64 pieces_in(u32 level) { return (u64{1} << level) / buckets_in_piece(level); }

  /// Every bucket that has memory, unborn ones too, and its number, while nobody changes the table.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (u64 b = 0; b < kFirst; ++b) visit(first_[b], b);
    for_each_piece([&](u64 first, u32 m) {
      for (u64 b = first; b < first + buckets_in_piece(m); ++b) visit(*at(b), b);
    });
  }
  /// Gives the memory of all but the first back.
  template <class Pool>
  void free_all(Pool& pool) {
    for_each_piece([&](u64 first, u32 m) { pool.free(at(first), Piece::bytes_for(buckets_in_piece(m))); });
    for (u32 m = kFirstBits; m < kMostBits; ++m) {
      if (const u64 level = level_[m].load()) pool.free(&link_in(level, u64{1} << m), Level::bytes_for(pieces_in(m)));
    }
  }

 private:
  template <class Visit>
  void for_each_piece(const Visit& visit) {
    for (u32 m = kFirstBits; m < kMostBits; ++m) {
      for (u64 i = 0; level_[m].load() != 0 && i < pieces_in(m); ++i) {
        const u64 first = (u64{1} << m) + i * buckets_in_piece(m);
        if (at(first) != nullptr) visit(first, m);
      }
    }
  }

  union {
    Bucket first_[kFirst];
  };
  Link level_[kMostBits];
};

}  // namespace latchlab::growing
