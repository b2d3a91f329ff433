#pragma once
// Programs with which the race finder explores cuckoo tables. Their table begins with two buckets, and splits one
// bucket at a time, when it is nearly full or when a key finds no path. So programs of a few operations go through full
// buckets, paths and splits.
#include <vector>

#include "indexes/cuckoo/cuckoo.h"
#include "indexes/explore_test.h"

namespace latchlab::testing {

/// The ids of a table's keys in programs of a few operations.
using FourId = cuckoo::HashId<Scale::kTiny>;
using PairsId = cuckoo::KeyId;

/// Returns number `nth`, from 0, of those whose two hashes end in the last `bits` bits of `home` and `other`.
template <class Id>
u64 number_of(u64 home, u64 other, u32 nth, u32 bits = 2) {
  for (u64 number = 1;; ++number) {
    const cuckoo::Hashes hashes = Id(number).hashes();
    if (growing::low_bits(hashes.home(), bits) == home && growing::low_bits(hashes.other(), bits) == other &&
        nth-- == 0) {
      return number;
    }
  }
}

/// Returns mixes for a table whose two first buckets have `slots` slots each, and then four have `later`.
template <class Id>
std::vector<RaceMix<u64>> cuckoo_mixes(u32 slots, u32 later) {
  const auto at = [](u64 home, u64 other, u32 nth, u32 bits) { return number_of<Id>(home, other, nth, bits); };
  // Bucket 0 of two is full of keys that could be in bucket 1, which has room.
  std::vector<u64> home, both;
  for (u32 i = 0; i < slots; ++i) home.push_back(at(0, 1, i, 1));
  // Both buckets are full except for one slot. So the next key finds no path, or only one.
  both = home;
  for (u32 i = 0; i + 1 < slots; ++i) both.push_back(at(1, i % 2, i, 1));
  // Four buckets, made by the first doubling. Bucket 0 is full, and each of its keys could be elsewhere.
  std::vector<u64> four;
  for (u32 i = 0; i < later; ++i) four.push_back(at(0, 1 + i % 3, i, 2));
  for (u32 i = 0; i < later + 1; ++i) four.push_back(at(1 + i % 3, 3, 20 + i, 2));
  const u64 more_0 = at(0, 1, slots, 1), again_0 = at(0, 0, 0, 1), other_0 = at(0, 0, 1, 1);
  const u64 path_0 = at(0, 1, 30, 2), path_1 = at(0, 0, 31, 2), path_2 = at(2, 0, 32, 2);
  // One key of a full bucket 0 is in bucket 1, and can only go back when room is made in bucket 0.
  std::vector<u64> back = home;
  back.push_back(more_0);
  for (u32 i = 0; i + 2 < slots; ++i) back.push_back(at(1, 1, i, 1));
  // Bucket 0 and its strays, all of which stay in bucket 0 when it is split. Not all strays find room there.
  std::vector<u64> strays;
  for (u32 i = 0; i < later + 1; ++i) strays.push_back(at(0, 1 + 2 * (i % 2), i, 2));
  std::vector<u64> crowd = strays;
  for (const u64 number : {at(1, 1, 0, 1), at(1, 0, 0, 1), at(2, 1, 0, 2)}) crowd.push_back(number);
  // Eight buckets, which become sixteen.
  std::vector<u64> many, more;
  for (u64 number = 0; number < 15 * later / 2; ++number) many.push_back(number);
  for (u64 number = 1000; number < 1008; ++number) more.push_back(number);
  for (u64 i = 0; i < 4; ++i) more.push_back(many[5 * i]);
  const u64 in_1 = at(1, 1, 5, 1), too_many_in_1 = at(1, 1, 6, 1);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"other bucket", home, {}, {home[0], home[1], more_0, again_0}, {4, 5, 2, 1, 4, 0}},
      {"path of one move", home, {}, {home[0], home[2], again_0, other_0}, {5, 6, 1, 1, 2, 0}},
      {"an erased key of a full bucket", home, {}, {home[0], home[1], again_0, cuckoo::kOdd}, {5, 6, 1, 1, 5, 0}},
      {"full", both, {}, {both[0], both[slots + 1], more_0, again_0, other_0}, {5, 6, 1, 1, 3, 0}},
      {"first doubling", both, {both.back()}, {both[0], both[slots], both.back(), more_0, again_0}, {5, 6, 1, 1, 2, 1}},
      {"back home", back, {back[0]}, {more_0, more_0, in_1, too_many_in_1}, {6, 6, 0, 0, 1, 0}},
      {"values of a stray", back, {}, {more_0, more_0, again_0, in_1}, {4, 2, 6, 2, 1, 0}},
      {"homecoming", strays, {}, crowd, {5, 6, 3, 0, 2, 0}},
      {"sixteen buckets", many, {}, more, {3, 9, 2, 1, 2, 0}, 5},
      {"walks beside moves", home, {}, {again_0, other_0, in_1, home[0]}, {0, 5, 1, 0, 2, 4}},
      {"walks beside moves and splits", back, {}, {again_0, in_1, too_many_in_1}, {0, 5, 0, 1, 2, 4}},
      {"walks beside paths", four, {}, {path_0, path_1, path_2, four[0]}, {0, 6, 1, 0, 1, 4}},
      {"paths among four", four, {}, {four[0], four[1], four[later + 1], path_0, path_1, path_2}, {5, 6, 1, 1, 3, 0}},
  };
}
inline std::vector<RaceMix<u64>> four_mixes() { return cuckoo_mixes<FourId>(3, 4); }
inline std::vector<RaceMix<u64>> three_mixes() { return cuckoo_mixes<PairsId>(3, 3); }
inline std::vector<RaceMix<u64>> seven_mixes() { return cuckoo_mixes<PairsId>(7, 7); }

}  // namespace latchlab::testing
