#pragma once
// Programs with which the race finder explores chains of lines. Their table begins with two buckets of three slots.
// From the fifth key on it splits one bucket at a time. So programs of a few operations make nodes come and go and
// split chains.
#include <vector>

#include "indexes/chained/chained_line.h"
#include "indexes/chained/race_mixes_test.h"

namespace latchlab::testing {

inline std::vector<RaceMix<u64>> chained_line_mixes() {
  std::vector<u64> one;  // keys that stay in one bucket through several doublings
  for (u32 i = 0; i < 6; ++i) one.push_back(number_in(5, 6, i));
  const std::vector<u64> three(one.begin(), one.begin() + 3), four(one.begin(), one.begin() + 4);
  // in_b: a key in bucket b of eight; also_b: another one. After the first doubling, in_0 and in_4 are in bucket 0 of
  // four, in_2 and in_6 in bucket 2.
  const u64 in_0 = number_in(0, 3, 0), in_2 = number_in(2, 3, 0), in_4 = number_in(4, 3, 0), in_6 = number_in(6, 3, 0),
            also_0 = number_in(0, 3, 1), also_2 = number_in(2, 3, 1), also_4 = number_in(4, 3, 1),
            in_1 = number_in(1, 3, 0), in_3 = number_in(3, 3, 0), in_5 = number_in(5, 3, 0), in_7 = number_in(7, 3, 0);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"one line", {one[0], one[1]}, {}, three, {3, 3, 2, 2, 4, 0}},
      {"a node that comes and goes", three, {}, {one[2], one[3], one[4]}, {4, 5, 1, 1, 5, 0}},
      {"two nodes", four, {}, one, {3, 4, 1, 1, 4, 0}},
      {"a chain that is split", {in_0, in_2, in_4, in_6}, {}, {in_0, in_2, in_4, also_0, in_1}, {5, 5, 1, 1, 2, 0}},
      {"walks beside a split", {in_0, in_2, in_4, in_6}, {}, {in_2, in_4, also_0, in_1}, {0, 6, 1, 1, 2, 4}},
      {"a chain that goes to one side",
       {in_0, in_4, also_0, also_4},
       {},
       {in_0, also_0, in_2, in_3},
       {5, 5, 1, 1, 2, 0}},
      {"a split that leaves nodes over",
       one,
       {one[0], one[1], one[2]},
       {one[3], in_0, in_2, in_4, also_2},
       {4, 6, 0, 1, 3, 0}},
      {"second doubling",
       {in_0, in_1, in_2, in_3, in_4, in_5, also_0, also_2},
       {},
       {in_0, also_2, in_4, in_6, in_7},
       {5, 5, 1, 1, 2, 0}},
  };
}

}  // namespace latchlab::testing
