#pragma once
// Programs with which the race finder explores cuckoo tables. Their table begins with two buckets of seven slots. It
// splits one bucket at a time, at fourteen keys or when a key finds no path. So programs of a few operations go through
// full buckets, paths and splits.
#include <vector>

#include "indexes/cuckoo/cuckoo.h"
#include "indexes/explore_test.h"

namespace latchlab::testing {

/// Returns number `nth`, from 0, of those whose two hashes end in the last `bits` bits of `primary` and `secondary`.
inline u64 number_of(u64 primary, u64 secondary, u32 nth, u32 bits = 2) {
  for (u64 number = 1;; ++number) {
    const cuckoo::Hashes hashes(number);
    if (growing::low_bits(hashes.primary(), bits) == primary &&
        growing::low_bits(hashes.secondary(), bits) == secondary && nth-- == 0) {
      return number;
    }
  }
}

inline std::vector<RaceMix<u64>> cuckoo_mixes() {
  // Bucket 0 of two is full of keys that could be in bucket 1, which has room.
  std::vector<u64> primary, both;
  for (u32 i = 0; i < 7; ++i) primary.push_back(number_of(0, 1, i, 1));
  // Both buckets are full except for one slot. So the next key finds no path, or only one.
  both = primary;
  for (u32 i = 0; i < 6; ++i) both.push_back(number_of(1, i % 2, i, 1));
  // Four buckets, made by the first doubling. Bucket 0 is full, and each of its keys could be elsewhere.
  std::vector<u64> four;
  for (u32 i = 0; i < 7; ++i) four.push_back(number_of(0, 1 + i % 3, i, 2));
  for (u32 i = 0; i < 8; ++i) four.push_back(number_of(1 + i % 3, 3, 20 + i, 2));
  const u64 more_0 = number_of(0, 1, 7, 1), again_0 = number_of(0, 0, 0, 1), other_0 = number_of(0, 0, 1, 1);
  const u64 path_0 = number_of(0, 1, 30, 2), path_1 = number_of(0, 0, 31, 2), path_2 = number_of(2, 0, 32, 2);
  // One key of a full bucket 0 is in bucket 1, and can only go back when room is made in bucket 0.
  std::vector<u64> back = primary;
  for (const u64 number : {more_0, number_of(1, 1, 0, 1), number_of(1, 1, 1, 1), number_of(1, 1, 2, 1),
                           number_of(1, 1, 3, 1), number_of(1, 1, 4, 1)}) {
    back.push_back(number);
  }
  // Eight buckets, which become sixteen while other threads settle.
  std::vector<u64> many, crowd;
  for (u64 number = 0; number < 26; ++number) many.push_back(number);
  for (u64 number = 100; number < 108; ++number) crowd.push_back(number);
  for (u64 i = 0; i < 4; ++i) crowd.push_back(many[7 * i]);
  const u64 in_1 = number_of(1, 1, 5, 1), too_many_in_1 = number_of(1, 1, 6, 1);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"secondary", primary, {}, {primary[0], primary[1], more_0, again_0}, {4, 5, 2, 1, 4, 0}},
      {"path of one move", primary, {}, {primary[0], primary[3], again_0, other_0}, {5, 6, 1, 1, 2, 0}},
      {"an erased key of a full bucket",
       primary,
       {},
       {primary[0], primary[1], again_0, cuckoo::kOdd},
       {5, 6, 1, 1, 5, 0}},
      {"full", both, {}, {both[0], both[8], more_0, again_0, other_0}, {5, 6, 1, 1, 3, 0}},
      {"first doubling", both, {both[12]}, {both[0], both[7], both[12], more_0, again_0}, {5, 6, 1, 1, 2, 1}},
      {"back to the primary", back, {back[0]}, {more_0, more_0, in_1, too_many_in_1}, {6, 6, 0, 0, 1, 0}},
      {"settling", many, {}, crowd, {3, 9, 0, 1, 2, 0}, 5},
      {"paths among four", four, {}, {four[0], four[1], four[8], path_0, path_1, path_2}, {5, 6, 1, 1, 3, 0}},
  };
}

}  // namespace latchlab::testing
