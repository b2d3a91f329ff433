#pragma once
// A search for a path through a bucketized cuckoo table, breadth first: keys that can each move on to another of their
// buckets, the last into a free slot, so that a key without room gets one. The index asks its own buckets; here is
// where it has been.
//
// No bucket is on a path twice: so no slot is moved from twice, and no move undoes what another has done.
#include <array>

#include "src/base/types.h"

namespace latchlab {

/// Up to kMost buckets, its spots. `Move` says which key of a bucket would move: its slot, or the key itself.
template <class Move, u32 kMost>
class PathSearch {
 public:
  PathSearch() {}  // not defaulted: that could zero the spots, and a search mostly ends after a few

  u32 size() const { return size_; }
  bool full() const { return size_ == kMost; }
  u64 bucket(u32 spot) const { return spots_[spot].bucket; }

  /// A bucket of the key that has no room.
  void begin(u64 bucket) { spots_[size_++] = {bucket, Move(), kMost}; }
  /// Adds the bucket to which `move` would go from the bucket of spot `from`; false if it is on the way there already.
  /// Not if full.
  [[nodiscard]] bool come_to(u64 bucket, Move move, u32 from) {
    for (u32 at = from; at != kMost; at = spots_[at].from) {
      if (spots_[at].bucket == bucket) return false;
    }
    spots_[size_++] = {bucket, move, from};
    return true;
  }
  /// On the path to the spot. O(moves).
  u32 moves(u32 spot) const {
    u32 out = 0;
    for (; spots_[spot].from != kMost; spot = spots_[spot].from) ++out;
    return out;
  }
  /// run(bucket, move) for each move of the path to the spot, the last one first; `bucket` is the one that it leaves.
  template <class Run>
  void for_each_move(u32 spot, const Run& run) const {
    for (; spots_[spot].from != kMost; spot = spots_[spot].from)
      run(spots_[spots_[spot].from].bucket, spots_[spot].move);
  }

 private:
  struct Spot {
    u64 bucket;
    Move move;
    u32 from;  // kMost: from nowhere, a bucket to begin with
  };
  std::array<Spot, kMost> spots_;
  u32 size_ = 0;
};

}  // namespace latchlab
