#pragma once
// The tags of a cache, or of a TLB: which lines (or pages) it has. Sets are in the order of use, true LRU:
//
//     set   | most recent | ... | least recent |      a use moves a tag to the front; a new one evicts the last
//
// A line's set is its number modulo the sets. Real L3 slices hash addresses; modulo gives the same hit ratio where
// lines are spread evenly, and a footprint of the size of the cache fits.
#include <algorithm>
#include <bit>
#include <vector>

#include "src/base/types.h"

namespace latchlab::model {

class Tags {
 public:
  static constexpr u64 kNone = ~u64{0};  ///< no line

  /// Makes an empty cache of sets * ways lines; both at least 1.
  Tags(u64 sets, u32 ways)
      : sets_(sets), mask_(std::has_single_bit(sets) ? sets - 1 : 0), ways_(ways), tags_(sets * ways, kNone) {}

  /// Returns true if the line is there, and makes it the most recent of its set. O(ways).
  [[nodiscard]] bool use(u64 line) {
    u64* const set = set_of(line);
    u64* const found = std::find(set, set + ways_, line);
    if (found == set + ways_) return false;
    std::copy_backward(set, found, found + 1);
    *set = line;
    return true;
  }
  [[nodiscard]] bool has(u64 line) const {
    const u64* const set = const_cast<Tags*>(this)->set_of(line);
    return std::find(set, set + ways_, line) != set + ways_;
  }
  /// Inserts a line, which must not be there. Returns the line that it evicts, or kNone.
  u64 insert(u64 line) {
    u64* const set = set_of(line);
    const u64 evicted = set[ways_ - 1];
    std::copy_backward(set, set + ways_ - 1, set + ways_);
    *set = line;
    return evicted;
  }
  /// Removes a line; returns false if it was not there.
  bool erase(u64 line) {
    u64* const set = set_of(line);
    u64* const found = std::find(set, set + ways_, line);
    if (found == set + ways_) return false;
    std::copy(found + 1, set + ways_, found);
    set[ways_ - 1] = kNone;  // so the free ways are the last
    return true;
  }

  void clear() { std::ranges::fill(tags_, kNone); }

 private:
  u64* set_of(u64 line) { return &tags_[(mask_ != 0 ? line & mask_ : line % sets_) * ways_]; }

  u64 sets_, mask_;  // the mask is 0 unless the sets are a power of two, since a division costs more
  u32 ways_;
  std::vector<u64> tags_;
};

}  // namespace latchlab::model
