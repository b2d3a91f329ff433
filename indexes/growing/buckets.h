#pragma once
// The buckets of a hash table that grows while it is used, without a moment at which the whole table moves.
//
//     bucket b with k bits    the keys with hashes that end in the k bits of b
//     split                   b with k bits -> b and b + 2^k, with k + 1 bits each
//     unborn                  no split has made it yet: its keys are in the bucket with b's highest bit cleared
//
// Invariant: exactly one bucket is responsible for each hash. A thread sees in a bucket's word whether this is the
// bucket for its hash. Three things follow:
//   1. The bucket at which to look first is a hint that needs no proof (Table::guess).
//   2. Splits may happen in any order.
//   3. A lookup validates the bucket and nothing else.
// This is linear hashing (Litwin, VLDB 1980) without its order of splits.
//
// Buckets have numbers and never move. Level m has 2^m buckets, in pieces. A piece is linked by the claim of the first
// run of splits that needs it.
#include <algorithm>
#include <bit>
#include <new>

#include "src/base/scale.h"
#include "src/base/types.h"

namespace latchlab::growing {

/// Returns the low bits of a hash.
constexpr u64 low_bits(u64 hash, u32 bits) { return hash & ((u64{1} << bits) - 1); }
/// Returns the bucket that holds the keys of b while b is unborn. b must not be 0.
constexpr u64 parent_of(u64 b) { return b & ~std::bit_floor(b); }

/// A bucket, as its table needs it. The uppermost eight bits of `word` are the number of hash bits for which the bucket
/// is responsible, or 0 while it is unborn.
template <class B>
concept BucketOf = requires(B& bucket) {
  new (&bucket) B(u64{});  // constructs it unborn, with its number
  bucket.word.load();
};
constexpr u32 kWordShift = 56;
constexpr u32 bits_of(u64 word) { return static_cast<u32>(word >> kWordShift); }

template <class Layout, BucketOf Bucket>
class Buckets {
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  /// Number of buckets from the beginning.
  static constexpr u64 kFirst = kTiny ? 2 : std::bit_floor(u64{256} / sizeof(Bucket));
  static constexpr u32 kFirstBits = std::countr_zero(kFirst);
  static_assert(kFirstBits >= 1, "no bits say that a bucket is unborn");
  /// The maximal number of buckets in one block.
  static constexpr u64 kPiece = kTiny ? 2 : std::bit_floor((u64{64} << 10) / sizeof(Bucket));
  static constexpr u32 kMostBits = 32;

  /// A block of buckets, all unborn.
  class Piece {
   public:
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(Bucket); }
    /// Constructs `count` buckets, numbered from `first` on.
    Piece(u64 count, u64 first) {
      for (u64 i = 0; i < count; ++i) new (&bucket_[i]) Bucket(first + i);
    }

   private:
    union {
      Bucket bucket_[1];  // an array of `count` buckets
    };
  };

  /// The links of a level to its pieces, all null at first.
  class Level {
   public:
    using Link = typename Layout::template Cell<u64>;
    static constexpr std::size_t bytes_for(u64 count) { return count * sizeof(Link); }
    Level(u64 count, u64) {
      for (u64 i = 0; i < count; ++i) new (&link_[i]) Link;
    }

   private:
    union {
      Link link_[1];  // an array of `count` links
    };
  };
  using Link = typename Level::Link;

  Buckets() {
    for (u64 b = 0; b < kFirst; ++b) (new (&first_[b]) Bucket(b))->word.store(u64{kFirstBits} << kWordShift);
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  /// Returns bucket b, or null while its piece is not linked: then b is unborn.
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

  // Links hold biased addresses, so that `at` counts from bucket 0 everywhere. The bias is the size of everything
  // before the first entry of a level, or before the only piece of a small level.
  Link& level(u32 m) { return level_[m]; }
  /// Returns the link of the piece of bucket b. `level` is the content of its level's link.
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

  /// Visits every bucket that has memory, unborn ones too, with its number. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (u64 b = 0; b < kFirst; ++b) visit(first_[b], b);
    for_each_piece([&](u64 first, u32 m) {
      for (u64 b = first; b < first + buckets_in_piece(m); ++b) visit(*at(b), b);
    });
  }
  /// Frees the memory of all buckets except the first kFirst, which are part of this object.
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
