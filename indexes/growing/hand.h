#pragma once
// A walk over growing buckets (buckets.h) that goes on while buckets are split. It takes the hashes in a fixed order,
// and remembers nothing but its place, the hand:
//
//     order     by the first bits of the hash as a number, then by the others backwards, the lower bit first
//     first     number of bits that all buckets had, or were about to get, when the walk began
//
//     a bucket b with `first` bits      | 0 .. b - 1 |     the hashes of b     | b + 1 .. |
//     the same after its split          | 0 .. b - 1 |     b      | b + 2^first| b + 1 .. |
//
// So neighbours in memory are neighbours in the walk, and the halves of a split bucket are neighbours too. (With
// `first` at 0 the order is that of Redis SCAN.)
//
// Lemma: a walk passes each hash exactly once, in the bucket that is responsible for the hash at that moment.
//   1. The hashes of a bucket with at least `first` bits are one run of the order. A split cuts the run in two. Buckets
//      never merge, so the hand, which is where a run began or ended, stays a border between runs.
//   2. A bucket with fewer bits has several runs, each of them the hashes of one number. At that number the walk takes
//      the keys of its run and leaves the others (covers).
//   3. Exactly one bucket is responsible for the hash at the hand. The walk passes the rest of its run in one attempt.
// Hence a key that stays is visited exactly once if its hash alone decides where it is found.
#include "indexes/growing/buckets.h"
#include "src/base/types.h"
#include "sync/attempt.h"

namespace latchlab::growing {

/// The place of a walk. A new one has not begun, and one that has come to the end is new again.
class Hand {
 public:
  Hand() = default;
  /// Points to the first hash that ends in the `first` bits of `number`. `first` is from 1 to 63.
  Hand(u64 number, u32 first) : place_(number << (64 - first)), first_(first) {}

  bool begun() const { return first_ != 0; }
  /// Returns the number that the first bits of the hash are.
  u64 number() const { return place_ >> (64 - first_); }
  /// Returns the hash at the hand.
  u64 hash() const { return number() | reversed(place_ << first_) << first_; }
  /// Returns true if the hash ends in the first bits of the hand's.
  bool covers(u64 hash) const { return low_bits(hash, first_) == number(); }
  /// Returns the hand behind the hashes that a bucket with so many bits has in the run at the hand.
  Hand behind(u32 bits) const {
    Hand next = *this;
    next.place_ += u64{1} << (64 - (bits < first_ ? first_ : bits));
    return next.place_ != 0 ? next : Hand();
  }

 private:
  static u64 reversed(u64 bits) {
    bits = (bits >> 1 & 0x5555555555555555) | (bits & 0x5555555555555555) << 1;
    bits = (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
    bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(bits);
  }

  u64 place_ = 0;
  u32 first_ = 0;
};

/// Performs one attempt of a walk from the hand on, and returns the next place. It collects the pairs of at least one
/// bucket, and ends with the bucket with which there are `most`, or after kMostBuckets. take(hand, pairs) collects the
/// pairs at the hand, confirms them, and returns the bits of the bucket. If a later bucket cannot be confirmed, the
/// attempt ends before it: what it has of the others holds.
template <u32 kMostBuckets, class Pairs, class Take>
Attempt<Hand> walk_in(Hand hand, std::size_t most, Pairs& pairs, const Take& take) {
  pairs.clear();
  for (u32 buckets = 0; buckets < kMostBuckets; ++buckets) {
    const u32 proven = pairs.size();
    const Attempt<u32> bits = take(hand, pairs);
    if (!bits && buckets == 0) return bits.failure();
    if (!bits || pairs.lacks_room()) {
      pairs.cut(proven);
      break;
    }
    hand = hand.behind(*bits);
    if (!hand.begun() || pairs.size() >= most) break;
  }
  return hand;
}

}  // namespace latchlab::growing
