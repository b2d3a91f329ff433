#pragma once
// The order of a leaf's entries, as in Masstree (Mao, Kohler, Morris, EuroSys 2012). An entry never moves while it
// lives in its leaf: an insert stores it in a free place, and then the order.
//
//     small leaf, one word      | 4 bits unused | place 13 | ... | place 1 | place 0 | number of entries: 4 |
//     large leaf, many bytes    | number of entries: 32 | place 0: 8 | place 1: 8 | ... |
//
// The first places, as many as there are entries, are those of the entries in the order of their keys. The others are
// free.
//
// A word's places are always a permutation. A row of bytes is one between changes. A reader that sees a row in the
// middle of a change may read a place twice or not at all. But each byte is a place of the leaf, and the number is at
// most that of all places. So whatever a reader loads leads into the leaf.
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
  /// Returns the order of the first `entries` entries. If there were fewer, the free places that come next have
  /// entries.
  constexpr Order resized(u32 entries) const { return with(places(), entries); }

 private:
  static constexpr u64 below(u32 rank) { return (u64{1} << (4 * rank)) - 1; }
  constexpr u64 places() const { return word_ >> 4; }
  static constexpr Order with(u64 places, u32 entries) { return Order(places << 4 | entries); }

  u64 word_ = u64{0xdcba9876543210} << 4;
};
static_assert(Order().inserted(0).inserted(0).place(0) == 1 &&
              Order().inserted(0).inserted(0).removed(0).place(0) == 0);

/// The order of a small leaf in its cell. Changes take the order as it was read.
template <class Layout>
class WordOrder {
 public:
  Order read() const { return Order(word_.load()); }
  /// Puts the entry in free_place() at `rank`.
  void insert(Order now, u32 rank) { word_.store(now.inserted(rank).word()); }
  void remove(Order now, u32 rank) { word_.store(now.removed(rank).word()); }
  void resize(Order now, u32 entries) { word_.store(now.resized(entries).word()); }

 private:
  typename Layout::template Cell<u64> word_{Order().word()};
};

/// The order of a large leaf of kMost places. It is read where it is. An insert shifts the bytes behind its rank, two
/// lines of them on average where there are most.
template <class Layout, u32 kMost>
class RowOrder {
 public:
  RowOrder() {
    for (u32 i = 0; i < kMost; ++i) place_[i].store(static_cast<u8>(i));
  }
  const RowOrder& read() const { return *this; }
  u32 entries() const { return entries_.load(); }
  u32 place(u32 rank) const { return place_[rank].load(); }
  u32 free_place() const { return place(entries()); }

  void insert(const RowOrder&, u32 rank) {
    const u32 count = entries();
    const u8 taken = place_[count].load();
    for (u32 at = count; at > rank; --at) place_[at].store(place_[at - 1].load());
    place_[rank].store(taken);
    entries_.store(count + 1);
  }
  void remove(const RowOrder&, u32 rank) {
    const u32 count = entries();
    const u8 freed = place_[rank].load();
    for (u32 at = rank; at + 1 < count; ++at) place_[at].store(place_[at + 1].load());
    place_[count - 1].store(freed);
    entries_.store(count - 1);
  }
  void resize(const RowOrder&, u32 entries) { entries_.store(entries); }

 private:
  typename Layout::template Cell<u32> entries_{0};
  typename Layout::template Cell<u8> place_[kMost];
};

}  // namespace latchlab::btree
