#pragma once
// An entry: a free block of a slab class, as a number of 32 bits. A unit has 32 bytes, and a block of class c has 2^c
// units, of which the first is a multiple of 2^c. The entry is the middle of the block, in half units:
//
//     entry = 2 * first unit + 2^c            an odd multiple of 2^c, so its lowest bit is that of the class
//
//     unit      0     1     2     3     4
//     class 0   |  1  |  3  |  5  |  7  |     the halves of an entry are 2^(c-1) below and above it, and
//     class 1   |     2     |     6     |     it lies in the middle between them
//     class 2   |           4           |
//
// So entries of all classes are numbers in the order of their addresses, which one sort finds. 32 bits reach 2^31
// units, as those of KV-Direct: 64 GiB.
#include <array>
#include <bit>

#include "src/base/types.h"

namespace latchlab::slab {

inline constexpr u64 kUnitBytes = 32;
inline constexpr u32 kClasses = 5;  ///< 32, 64, 128, 256 and 512 bytes
inline constexpr u32 kLargest = kClasses - 1;
inline constexpr u64 kMostUnits = u64{1} << 31;

/// Returns the class of a block of `bytes`, 1 to 512.
[[nodiscard]] constexpr u32 class_for(u64 bytes) { return static_cast<u32>(std::bit_width((bytes - 1) / kUnitBytes)); }
[[nodiscard]] constexpr u64 bytes_of(u32 size_class) { return kUnitBytes << size_class; }

[[nodiscard]] constexpr u32 entry_of(u64 unit, u32 size_class) {
  return static_cast<u32>(2 * unit + (u64{1} << size_class));
}
[[nodiscard]] constexpr u32 class_of(u32 entry) { return static_cast<u32>(std::countr_zero(entry)); }
/// Returns the first unit.
[[nodiscard]] constexpr u64 unit_of(u32 entry) { return (entry & (entry - 1)) / 2; }

/// Returns half the distance between the halves of an entry, which is not of class 0.
[[nodiscard]] constexpr u32 half_of(u32 entry) { return (entry & -entry) / 2; }

static_assert(class_for(1) == 0 && class_for(32) == 0 && class_for(33) == 1 && class_for(512) == kLargest);
static_assert(unit_of(entry_of(48, 4)) == 48 && class_of(entry_of(48, 4)) == 4);
static_assert(unit_of(entry_of(kMostUnits - 1, 0)) == kMostUnits - 1);
static_assert(entry_of(6, 1) - half_of(entry_of(6, 1)) == entry_of(6, 0) &&
              entry_of(6, 1) + half_of(entry_of(6, 1)) == entry_of(7, 0));

/// A bit for each entry: the map of 64 numbers, those of 32 units.
inline constexpr u32 kEntriesOfMap = 64;

/// The numbers in a map that can be entries of each class.
inline constexpr std::array<u64, kClasses> kOfClass = [] {
  std::array<u64, kClasses> maps{};
  for (u32 entry = 1; entry < kEntriesOfMap; ++entry) {
    if (class_of(entry) < kClasses) maps[class_of(entry)] |= u64{1} << entry;
  }
  return maps;
}();

/// Joins the buddies in a map: two entries of a class, below the largest, that are the halves of one. What was joined
/// is joined again. The blocks of the entries do not overlap. O(1).
[[nodiscard]] constexpr u64 join_buddies(u64 map) {
  for (u32 size_class = 0; size_class < kLargest; ++size_class) {
    const u32 unit = 1u << size_class;  // the distance of a half from the whole
    u64 lower_halves = 0;
    for (u32 entry = unit; entry < kEntriesOfMap; entry += 4 * unit) lower_halves |= u64{1} << entry;
    const u64 pairs = map & map >> 2 * unit & lower_halves;
    map = (map ^ pairs ^ pairs << 2 * unit) | pairs << unit;
  }
  return map;
}
static_assert(join_buddies(u64{1} << 1 | u64{1} << 3) == u64{1} << 2);
static_assert(join_buddies(u64{1} << 3 | u64{1} << 5) == (u64{1} << 3 | u64{1} << 5), "neighbours, but no buddies");

}  // namespace latchlab::slab
