#pragma once
// Programs with which the race finder explores chained tables. Their table begins with two buckets. From the fourth key
// on it splits one bucket at a time. So programs of a few operations go through claims, splits and unborn buckets.
#include <string>
#include <vector>

#include "indexes/chained/chained.h"
#include "indexes/explore_test.h"

namespace latchlab::testing {

/// Returns number `nth` of the numbers with hashes that end in the `bits` bits of `bucket`.
inline u64 number_in(u64 bucket, u32 bits, u32 nth) {
  for (u64 number = 0;; ++number) {
    if (growing::low_bits(chained::hash_of(U64Key(number)), bits) == bucket && nth-- == 0) return number;
  }
}

inline std::vector<RaceMix<u64>> chained_mixes() {
  const u64 in_0 = number_in(0, 3, 0), in_2 = number_in(2, 3, 0), in_4 = number_in(4, 3, 0), in_6 = number_in(6, 3, 0),
            in_1 = number_in(1, 3, 0), in_3 = number_in(3, 3, 0), in_5 = number_in(5, 3, 0), in_7 = number_in(7, 3, 0);
  std::vector<u64> chain;  // keys that stay in one bucket through several doublings
  for (u32 i = 0; i < 4; ++i) chain.push_back(number_in(5, 6, i));
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"one chain", {chain[0], chain[1]}, {}, chain, {3, 3, 2, 2, 4, 1}},
      {"first doubling", {in_0, in_2, in_4}, {}, {in_0, in_2, in_4, in_6, in_1}, {5, 5, 1, 1, 2, 0}},
      {"first doubling of both", {in_1, in_2, in_3}, {}, {in_1, in_2, in_3, in_0, in_5}, {5, 5, 1, 1, 2, 1}},
      {"walks beside a doubling", {in_0, in_2, in_4}, {}, {in_2, in_6, in_1, in_5}, {0, 6, 1, 1, 2, 4}},
      {"second doubling",
       {in_0, in_1, in_2, in_3, in_4, in_5},
       {},
       {in_0, in_4, in_2, in_6, in_7, in_1},
       {5, 5, 1, 1, 2, 0}},
      {"a doubling that others have to end",
       {in_0, in_1, in_2, in_3, in_4, in_5, in_6},
       {in_0, in_1, in_2},
       {in_0, in_1, in_7, in_4},
       {4, 6, 1, 1, 3, 0}},
  };
}

inline std::vector<RaceMix<std::string>> chained_string_mixes() {
  const std::vector<std::string> keys{"", "a", "ab", "abc", std::string(40, 'x'), std::string("a\0b", 3)};
  return {{"strings", {keys[0], keys[1], keys[2]}, {}, keys, {4, 5, 1, 1, 3, 0}}};
}

}  // namespace latchlab::testing
