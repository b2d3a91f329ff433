#pragma once
// The way in which the pools of a memory share free blocks (pool.h): in which classes, how many of a class each pool
// keeps, and how many move between a pool and the exchange at a time. The numbers are limits, of which the smallest
// holds. So KV-Direct's slabs of 32 to 512 bytes, of which a pool keeps 2,048 and moves 512, are
//
//     Sharing{.classes = Sharing::Classes::kPowers, .least = 32, .kept_bytes = 2048 * 512, .kept_blocks = 2048,
//             .moved_blocks = 512}
//
// but without their splits and merges, which slabs.h has.
//
// With malloc there are no classes and nothing to share.
#include <algorithm>
#include <limits>

#include "src/base/types.h"

namespace latchlab {

/// Which free blocks pools share, and how many. The default is that of values.
struct Sharing {
  enum class Classes : u8 {
    kQuarters,  ///< those of every pool: pieces of a line, whole lines, then quarters of powers of two
    kPowers,    ///< powers of two from `least` on; a smaller block is rounded up to it
  };

  Classes classes = Classes::kQuarters;
  u64 least = 128;            ///< bytes of the smallest shared block, 16 to 1 Mi; the smallest power, with powers
  u64 kept_bytes = 64 << 10;  ///< bytes of free blocks of a class that a pool keeps; it may keep one block anyway
  u32 kept_blocks = std::numeric_limits<u32>::max();   ///< the number of free blocks of a class that a pool keeps
  u32 moved_blocks = std::numeric_limits<u32>::max();  ///< the number of blocks that move at a time, 1 or more

  /// Returns how many free blocks of `size` bytes a pool keeps.
  [[nodiscard]] constexpr u32 kept(u64 size) const {
    return std::max(u32{1}, static_cast<u32>(std::min(u64{kept_blocks}, kept_bytes / size)));
  }
  /// Returns how many of them move at a time: at most half of those that a pool has when it passes some on.
  [[nodiscard]] constexpr u32 moved(u64 size) const { return std::clamp(moved_blocks, u32{1}, kept(size) / 2 + 1); }
};

}  // namespace latchlab
