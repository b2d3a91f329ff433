#pragma once

// The keys of blocks that a store was offered lately and has not taken: their hashes, no blocks.
//
//     hash --high half--> row of 8 tags, the newest first:  | t0 | t1 | ... | t7 |
//          --low half---> tag
//
// A new tag pushes the oldest one of its row out. A key that is offered again is the newest of its row again. A row has
// one cache line for two. Threads share the rows without locks: two that write one row at once may lose a tag, and two
// keys may have one tag (1 of 2^29 offers that are new). Either costs a block that is taken an offer too late or early.

#include <algorithm>
#include <atomic>
#include <vector>

#include "src/base/types.h"

namespace latchlab::tier {

class Ghosts {
 public:
  /// Makes room for about `keys` keys, of 4 bytes each.
  explicit Ghosts(u64 keys) : tags_(std::max<u64>(1, (keys + kRow - 1) / kRow) * kRow) {}

  /// Returns whether the key with this hash was offered lately, and remembers that it is now. The hash is random in all
  /// 64 bits.
  bool offer(u64 hash) {
    const u32 tag = std::max(static_cast<u32>(hash), 1u);  // 0 is no tag
    // The high half times the number of rows, over 2^32: a row.
    std::atomic<u32>* const row = tags_.data() + ((hash >> 32) * (tags_.size() / kRow) >> 32) * kRow;
    // Relaxed: a tag guards no memory.
    u32 before = row[0].load(kRelaxed);
    if (before == tag) return true;
    row[0].store(tag, kRelaxed);
    for (u64 i = 1; i < kRow; ++i) {
      const u32 here = row[i].load(kRelaxed);
      row[i].store(before, kRelaxed);
      if (here == tag) return true;
      before = here;
    }
    return before == tag;
  }

  /// Returns the bytes of the tags.
  [[nodiscard]] u64 bytes() const { return tags_.size() * sizeof(u32); }

 private:
  static constexpr u64 kRow = 8;

  std::vector<std::atomic<u32>> tags_;
};

}  // namespace latchlab::tier
