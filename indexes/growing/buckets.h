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
// Buckets have numbers and never move. They are one array, in a range of addresses that is reserved at once and gets
// its memory by and by. Fresh memory is zero, and zeros are an unborn bucket. So nothing is written before a split.
#include <algorithm>
#include <bit>
#include <concepts>
#include <mutex>
#include <new>

#include "src/base/scale.h"
#include "src/base/types.h"
#include "src/memory/pool.h"

namespace latchlab::growing {

/// Returns the low bits of a hash.
constexpr u64 low_bits(u64 hash, u32 bits) { return hash & ((u64{1} << bits) - 1); }
/// Returns the bucket that holds the keys of b while b is unborn. b must not be 0.
constexpr u64 parent_of(u64 b) { return b & ~std::bit_floor(b); }

/// A bucket, as its table needs it. Zeros are an unborn bucket. Its word, `word`, has the number of hash bits for which
/// the bucket is responsible, or 0 while it is unborn.
template <class B>
concept BucketOf = requires(B& bucket) {
  new (&bucket) B();           // constructs it unborn
  bucket.begin(u32{}, u64{});  // gives it these bits, as the bucket with this number, before another thread sees it
  { B::bits_of(bucket.word.load()) } -> std::same_as<u32>;
};

template <class Layout, BucketOf Bucket>
class Buckets {
  static constexpr bool kTiny = Layout::kScale == Scale::kTiny;

 public:
  /// Number of buckets from the beginning, which are part of this object.
  static constexpr u64 kFirst = kTiny ? 2 : std::bit_floor(u64{256} / sizeof(Bucket));
  static constexpr u32 kFirstBits = std::countr_zero(kFirst);
  static_assert(kFirstBits >= 1, "no bits say that a bucket is unborn");
  static constexpr u32 kMostBits = kTiny ? 9 : 31;

  Buckets() {
    for (u64 b = 0; b < kFirst; ++b) (new (&first_[b]) Bucket())->begin(kFirstBits, b);
  }
  Buckets(const Buckets&) = delete;
  Buckets& operator=(const Buckets&) = delete;

  /// Returns bucket b, which must have memory.
  [[gnu::always_inline]] Bucket* at(u64 b) {
    if (b < kFirst) return &first_[b];
    return reinterpret_cast<Bucket*>(start_.load() + b * sizeof(Bucket));
  }

  static u32 level_of(u64 b) { return static_cast<u32>(std::bit_width(b)) - 1; }

  /// Returns the bytes that buckets 0 to count - 1 need in the range, with room for some more of them.
  static u64 bytes_for(u64 count) {
    constexpr u64 kMostStep = u64{256} << 10;  // pages are asked for in such runs
    const u64 bytes = count * sizeof(Bucket), step = std::min(std::bit_floor(bytes) / 4, kMostStep);
    return std::min((bytes + step - 1) / step * step, most_bytes());
  }
  static constexpr u64 most_bytes() { return sizeof(Bucket) << kMostBits; }
  using Range = typename Pool<typename Layout::Machine>::Range;
  Range& range() { return range_; }
  u64 usable_bytes() {
    const std::lock_guard lock(range_.mutex);
    return range_.usable;
  }
  /// Lets `at` find buckets in the range, which starts there.
  void start_at(u64 address) {
    if (start_.load() == 0) start_.store(address);
  }

  /// Visits buckets 0 to count - 1 with their numbers. No thread may change the table meanwhile.
  template <class Visit>
  void for_each(u64 count, const Visit& visit) {
    for (u64 b = 0; b < count; ++b) visit(*at(b), b);
  }
  /// Frees the memory of all buckets except the first kFirst.
  template <class AnyPool>
  void free_all(AnyPool& pool) {
    pool.free(range_);
  }

 private:
  union {
    Bucket first_[kFirst];
  };
  typename Layout::template Cell<u64> start_;  // address of the range, 0 at first
  alignas(kFalseSharingBytes) Range range_;    // which extenders lock, away from what lookups read
};

}  // namespace latchlab::growing
