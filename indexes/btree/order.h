#pragma once
// The order of a leaf's entries in one word, as in Masstree (Mao, Kohler, Morris, EuroSys 2012). An entry never moves
// while it lives in its leaf: an insert stores it in a free place, and then this word.
//
//     | 4 bits unused | place 13 | ... | place 1 | place 0 | number of entries: 4 |
//
// The first places, as many as there are entries, are those of the entries in the order of their keys. The others are
// free. The places are always a permutation of 0 to 13, so every word that a reader loads leads into the leaf.
#include "src/base/types.h"

namespace latchlab::btree {

class Order {
 public:
  static constexpr u32 kMost = 14;

  /// Makes the order of a leaf without entries.
  constexpr Order() = default;
  constexpr explicit Order(u64 word) : word_(word) {}
  constexpr u64 word() const { return word_; }
  /// Returns the order in which the first `entries` places are in use, each at its own rank.
  static constexpr Order of_first(u32 entries) { return Order().with(Order().places(), entries); }

  constexpr u32 entries() const { return static_cast<u32>(word_ & 15); }
  /// Returns the place of the entry with this rank.
  constexpr u32 place(u32 rank) const { return static_cast<u32>(word_ >> (4 + 4 * rank) & 15); }
  /// Returns a place that is free. There must be one.
  constexpr u32 free_place() const { return place(entries()); }

  /// Returns the order with the entry in free_place() at `rank`.
  constexpr Order inserted(u32 rank) const {
    const u32 count = entries();
    const u64 all = places(), moved = all & (below(count) & ~below(rank));
    return with((all & ~below(count + 1)) | moved << 4 | u64{place(count)} << (4 * rank) | (all & below(rank)),
                count + 1);
  }
  /// Returns the order without the entry at `rank`, whose place is then the next free one.
  constexpr Order removed(u32 rank) const {
    const u32 count = entries();
    const u64 all = places(), moved = all & (below(count) & ~below(rank + 1));
    return with((all & ~below(count)) | u64{place(rank)} << (4 * (count - 1)) | moved >> 4 | (all & below(rank)),
                count - 1);
  }
  /// Returns the order of the first `entries` entries alone.
  constexpr Order cut(u32 entries) const { return with(places(), entries); }

 private:
  static constexpr u64 below(u32 rank) { return (u64{1} << (4 * rank)) - 1; }
  constexpr u64 places() const { return word_ >> 4; }
  static constexpr Order with(u64 places, u32 entries) { return Order(places << 4 | entries); }

  u64 word_ = u64{0xdcba9876543210} << 4;
};
static_assert(Order().inserted(0).inserted(0).place(0) == 1 &&
              Order().inserted(0).inserted(0).removed(0).place(0) == 0);

}  // namespace latchlab::btree
