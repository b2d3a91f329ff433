#include "src/memory/slab_entry.h"

#include <bit>
#include <map>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

using slab::entry_of;

/// Joins by an array of units, class after class.
std::vector<u32> joined_by_classes(const std::vector<u32>& entries, u64 units) {
  std::vector<int> class_at(units, -1);  // of the free block that begins there
  for (const u32 entry : entries) class_at[slab::unit_of(entry)] = static_cast<int>(slab::class_of(entry));
  for (int size_class = 0; size_class < static_cast<int>(slab::kLargest); ++size_class) {
    const u64 size = u64{1} << size_class;
    for (u64 unit = 0; unit + 2 * size <= units; unit += 2 * size) {
      if (class_at[unit] != size_class || class_at[unit + size] != size_class) continue;
      class_at[unit] = size_class + 1;
      class_at[unit + size] = -1;
    }
  }
  std::vector<u32> left;
  for (u64 unit = 0; unit < units; ++unit) {
    if (class_at[unit] >= 0) left.push_back(entry_of(unit, static_cast<u32>(class_at[unit])));
  }
  return left;
}

/// Joins by maps of 64 numbers.
std::vector<u32> joined(const std::vector<u32>& entries) {
  std::map<u32, u64> maps;
  for (const u32 entry : entries) maps[entry / slab::kEntriesOfMap] |= u64{1} << entry % slab::kEntriesOfMap;
  std::vector<u32> left;
  for (const auto& [number, map] : maps) {
    for (u64 rest = slab::join_buddies(map); rest != 0; rest &= rest - 1)
      left.push_back(number * slab::kEntriesOfMap + static_cast<u32>(std::countr_zero(rest)));
  }
  return left;
}

TEST_CASE("An entry tells its class and its first unit, up to the last of 2^31") {
  for (const u64 of_largest : {u64{0}, u64{1}, u64{1000}, slab::kMostUnits / 16 - 1}) {
    for (u32 size_class = 0; size_class < slab::kClasses; ++size_class) {
      for (u64 unit = 16 * of_largest; unit < 16 * (of_largest + 1); unit += u64{1} << size_class) {
        const u32 entry = entry_of(unit, size_class);
        CHECK(slab::class_of(entry) == size_class);
        CHECK(slab::unit_of(entry) == unit);
        CHECK(entry != 0);
      }
    }
  }
}

TEST_CASE("Every size has the smallest class that holds it") {
  for (u64 bytes = 1; bytes <= 512; ++bytes) {
    const u32 size_class = slab::class_for(bytes);
    CHECK(slab::bytes_of(size_class) >= bytes);
    CHECK((size_class == 0 || slab::bytes_of(size_class - 1) < bytes));
  }
}

TEST_CASE("Buddies are joined, and neighbours that are no buddies are not") {
  CHECK(joined({}).empty());
  CHECK(joined({entry_of(0, 0), entry_of(1, 0)}) == std::vector{entry_of(0, 1)});
  CHECK(joined({entry_of(1, 0), entry_of(2, 0)}) == std::vector{entry_of(1, 0), entry_of(2, 0)});
  CHECK(joined({entry_of(2, 1), entry_of(4, 1)}) == std::vector{entry_of(2, 1), entry_of(4, 1)});
  CHECK(joined({entry_of(0, 0), entry_of(2, 0)}) == std::vector{entry_of(0, 0), entry_of(2, 0)});
  CHECK(joined({entry_of(0, 1), entry_of(2, 0)}) == std::vector{entry_of(0, 1), entry_of(2, 0)});
  CHECK(joined({entry_of(4, 0), entry_of(5, 0), entry_of(6, 1)}) == std::vector{entry_of(4, 2)});
  CHECK(joined({entry_of(0, 4), entry_of(16, 4)}) == std::vector{entry_of(0, 4), entry_of(16, 4)});
  std::vector<u32> units;
  for (u64 unit = 0; unit < 48; ++unit) units.push_back(entry_of(unit, 0));
  CHECK(joined(units) == std::vector{entry_of(0, 4), entry_of(16, 4), entry_of(32, 4)});
}

TEST_CASE("Random blocks are joined as by an array of units") {
  Rng random(test_seed());
  bool same = true;
  for (u32 round = 0; round < 300; ++round) {
    constexpr u64 kUnits = 512;
    const u64 share = 1 + random.below(10);  // of ten blocks, so many are free
    std::vector<u32> entries;
    for (u64 unit = 0; unit < kUnits;) {
      u32 size_class = static_cast<u32>(random.below(slab::kClasses + 3));
      if (size_class >= slab::kClasses) size_class = 0;
      while (unit % (u64{1} << size_class) != 0) --size_class;
      if (random.below(10) < share) entries.push_back(entry_of(unit, size_class));
      unit += u64{1} << size_class;
    }
    same = same && joined(entries) == joined_by_classes(entries, kUnits);
  }
  CHECK(same);
}

}  // namespace
}  // namespace latchlab
