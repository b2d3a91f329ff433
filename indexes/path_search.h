#pragma once
// A breadth-first search for a cuckoo path through a bucketized table. The path is a list of keys. Each key moves to
// another of its buckets, the last one into a free slot, so that a key without room gets a slot. The index examines its
// own buckets; this class remembers the visited ones.
//
// No bucket is on a path twice. So no slot is moved from twice, and no move undoes another.
#include <array>

#include "src/base/types.h"

namespace latchlab {

/// The search, over at most kMost visited buckets, which are called spots. `Move` names the key of a bucket that would
/// move: by its slot, or by the key itself.
template <class Move, u32 kMost>
class PathSearch {
 public:
  PathSearch() {}  // not defaulted: that could zero the spots, and a search mostly ends after a few of them

  u32 size() const { return size_; }
  bool full() const { return size_ == kMost; }
  u64 bucket(u32 spot) const { return spots_[spot].bucket; }

  /// Adds a bucket of the key that has no room, where a path may begin.
  void begin(u64 bucket) { spots_[size_++] = {bucket, Move(), kMost}; }
  /// Adds the bucket to which `move` would go from the bucket of spot `from`. Returns false if that bucket is on the
  /// path to `from` already. Must not be called when full() is true.
  [[nodiscard]] bool come_to(u64 bucket, Move move, u32 from) {
    for (u32 at = from; at != kMost; at = spots_[at].from) {
      if (spots_[at].bucket == bucket) return false;
    }
    spots_[size_++] = {bucket, move, from};
    return true;
  }
  /// Returns the number of moves on the path to the spot. O(moves).
  u32 moves(u32 spot) const {
    u32 out = 0;
    for (; spots_[spot].from != kMost; spot = spots_[spot].from) ++out;
    return out;
  }
  /// Calls run(bucket, move) for each move of the path to the spot, the last move first. `bucket` is the bucket that
  /// the key leaves.
  template <class Run>
  void for_each_move(u32 spot, const Run& run) const {
    for (; spots_[spot].from != kMost; spot = spots_[spot].from)
      run(spots_[spots_[spot].from].bucket, spots_[spot].move);
  }

 private:
  struct Spot {
    u64 bucket;
    Move move;
    u32 from;  // kMost: the path begins with this bucket
  };
  std::array<Spot, kMost> spots_;
  u32 size_ = 0;
};

}  // namespace latchlab
