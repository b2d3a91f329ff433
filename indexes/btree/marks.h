#pragma once
// The marks of a large leaf: a byte of each key's hash, at the number of its place. A lookup compares all marks,
// sixteen at once, and then reads the keys that have the sought one's. So it reads few lines that depend on each other,
// and not the order. The marks of free places mean nothing.
//
// Oukid, Lasperas, Nica, Willhalm and Lehner (SIGMOD 2016) have such fingerprints in the leaves of their FPTree.
#include <bit>

#include "src/arch/simd.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::btree {

template <class Layout, u32 kMost>
class Marks {
  using Machine = typename Layout::Machine;

 public:
  u8 load(u32 place) const { return mark_[place].load(); }
  void store(u32 place, u8 mark) { mark_[place].store(mark); }

  /// Calls visit(place) for the places with this mark, until it returns true.
  template <class Visit>
  [[gnu::always_inline]] void visit(u8 mark, const Visit& visit) const {
    for (u32 first = 0; first < kMost; first += kAtOnce) {
      for (u64 equal = this->equal(first, mark); equal != 0; equal &= equal - 1) {
        const u32 place = first + static_cast<u32>(std::countr_zero(equal));
        if (place < kMost && visit(place)) return;
      }
    }
  }

 private:
  static constexpr u32 kBytes = (kMost + 15) / 16 * 16, kAtOnce = 64;

  /// Returns a mask of the marks from number `first` on that are equal to `mark`, up to kAtOnce of them.
  [[gnu::always_inline]] u64 equal(u32 first, u8 mark) const {
    u64 equal = 0;
    if constexpr (Machine::kReadsWholeLines) {
      Machine::touch(&mark_[first], kBytes - first < kAtOnce ? kBytes - first : kAtOnce, Access::kRead);
#pragma GCC unroll 4
      for (u32 i = 0; i < kAtOnce; i += 16) {
        if (first + i < kBytes) equal |= u64{Bytes16::load(&mark_[first + i]).equal_to(mark)} << i;
      }
    } else {
      for (u32 i = 0; i < kAtOnce && first + i < kMost; ++i) equal |= u64{load(first + i) == mark} << i;
    }
    return equal;
  }

  typename Layout::template Cell<u8> mark_[kBytes]{};
};

}  // namespace latchlab::btree
