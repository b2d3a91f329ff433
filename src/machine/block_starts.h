#pragma once
// The blocks of an arena: to each offset the first byte of its block. A model of a processor asks at every reference,
// so an answer takes at most four words of a bitmap.
//
//     bits       one a unit of 16 bytes: a block begins here
//     reaching   one word a page of 4096 bytes: where the block begins that reaches into the page
//
// A block ends where another one was marked later, and nowhere else. So the rest of a chunk belongs to the block before
// it, and a freed block needs no call.
#include <algorithm>

#include "src/base/types.h"

namespace latchlab {

class BlockStarts {
 public:
  /// For an arena of `bytes`, a multiple of 4096. Takes address space, and memory only where blocks are marked. Throws
  /// std::bad_alloc.
  explicit BlockStarts(u64 bytes);
  ~BlockStarts();
  BlockStarts(const BlockStarts&) = delete;
  BlockStarts& operator=(const BlockStarts&) = delete;

  /// Marks a block. It begins at the unit of `begin`, and takes away what other blocks had there. O(bytes / 1024).
  void mark(u64 begin, u64 bytes);

  /// Returns the offset of the block that this offset is in, or of its page if no block was marked there.
  u64 start_of(u64 offset) const {
    const u64 unit = offset / kUnit, page = offset / kPage;
    u64 at = unit / 64;
    u64 word = bits_[at] & ~u64{0} >> (63 - unit % 64);
    while (word == 0 && at > page * kWordsOfPage) word = bits_[--at];
    if (word != 0) return (at * 64 + 63 - static_cast<u64>(__builtin_clzll(word))) * kUnit;
    return reaching1_[page] != 0 ? reaching1_[page] - 1 : page * kPage;
  }
  /// Returns where the block that begins at `start` ends: where the next one begins, `most` bytes on if none does
  /// before. O(most / 1024).
  u64 end_of(u64 start, u64 most) const {
    const u64 end = std::min(start + most, pages_ * kPage);
    u64 unit = start / kUnit + 1;
    while (unit * kUnit < end) {
      const u64 word = bits_[unit / 64] >> unit % 64;
      if (word != 0) return std::min(end, (unit + static_cast<u64>(__builtin_ctzll(word))) * kUnit);
      unit = (unit / 64 + 1) * 64;
    }
    return end;
  }
  /// Forgets the blocks of the arena's first `bytes`.
  void clear(u64 bytes);

 private:
  static constexpr u64 kUnit = 16;
  static constexpr u64 kPage = 4096;
  static constexpr u64 kWordsOfPage = kPage / kUnit / 64;

  const u64 pages_;
  u64* bits_;
  u64* reaching1_;  // one plus an offset; 0 for none
};

}  // namespace latchlab
