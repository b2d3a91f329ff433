#pragma once
// A row of the keys of a node, which a search compares at once. Unused places hold kNone, which no search counts as
// smaller than a key.
//
// A u64 is kept with its sign bit flipped: the processor compares signed words.
#include "src/arch/simd.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

template <class Layout, class Key, u32 kMany>
class Keys;

template <class Layout, u32 kMany>
class Keys<Layout, U64Key, kMany> {
  using Machine = typename Layout::Machine;

 public:
  /// A key as the row keeps it.
  using Kept = u64;
  static constexpr Kept kNone = ~u64{0} >> 1;  // the greatest of all; a key, too

  static Kept kept(U64Key key) { return key.raw() ^ kSign; }
  static U64Key key_of(Kept kept) { return U64Key(kept ^ kSign); }

  static bool less_than(Kept a, Kept b) { return static_cast<i64>(a) < static_cast<i64>(b); }

  Kept load(u32 place) const { return cell_[place].load(); }
  void store(u32 place, Kept key) { cell_[place].store(key); }
  void clear(u32 place) { cell_[place].store(kNone); }

  /// Returns the number of keys that are less than `bound`.
  [[gnu::always_inline]] u32 less(Kept bound) const {
    if constexpr (Machine::kReadsWholeLines) {
      Machine::touch(cell_, sizeof(cell_), Access::kRead);
      return count_less<kMany>(cell_, bound);
    } else {
      u32 less = 0;
      for (const KeyCell& cell : cell_) less += less_than(cell.load(), bound);
      return less;
    }
  }
  /// Returns the places of the keys that are equal to `key`, as a mask. If `key` is kNone, unused places are among
  /// them.
  [[gnu::always_inline]] u32 equal(Kept key) const {
    if constexpr (Machine::kReadsWholeLines) {
      Machine::touch(cell_, sizeof(cell_), Access::kRead);
      return equal_words<kMany>(cell_, key);
    } else {
      u32 equal = 0;
      for (u32 i = 0; i < kMany; ++i) equal |= u32{cell_[i].load() == key} << i;
      return equal;
    }
  }

 private:
  static constexpr u64 kSign = u64{1} << 63;
  struct KeyCell : Layout::template Cell<u64> {
    KeyCell() : Layout::template Cell<u64>(kNone) {}
  };

  KeyCell cell_[kMany];
};

}  // namespace latchlab::btree
