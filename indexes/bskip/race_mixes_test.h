#pragma once
// Programs with which the race finder explores the B-skiplist, with four keys a node and four levels. Half of the keys
// of a level are on the next one. The programs depend on these heights of keys:
//
//     height 0   14 15 16 17 20 22 24 28 29 30, and the greatest number
//     height 1   18 21 26 27 33 34 36
//     height 2   19 23
//     height 3   12 25
#include <string>
#include <vector>

#include "indexes/bskip/bskip.h"
#include "indexes/explore_test.h"
#include "src/testing/race_program.h"

namespace latchlab::testing {

inline std::vector<RaceMix<u64>> bskip_mixes() {
  constexpr u64 kMost = ~u64{0};
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"from the empty index", {}, {}, {20, 21, 23, 24, 25, kMost}, {2, 6, 1, 1, 2, 1}, 4},
      {"overflow of the first leaf", {14, 15, 16}, {}, {17, 20, 14, 22, kMost}, {3, 6, 1, 1, 2, 1}},
      {"overflow of a leaf", {12, 14, 16, 20}, {}, {12, 15, 17, 22, 24}, {3, 6, 1, 1, 2, 1}},
      {"keys rise", {14, 15, 16, 20, 22, 24, 28}, {}, {17, 18, 19, 21, 23, 25}, {3, 6, 1, 1, 2, 1}},
      {"overflow above", {12, 18, 21, 26, 27, 29, 30}, {}, {19, 23, 24, 25, 28}, {3, 6, 1, 1, 2, 1}},
      {"tall keys come and go", {12, 14, 18, 20, 23, 24, 25, 28}, {}, {18, 20, 23, 24, 25}, {2, 4, 1, 1, 4, 1}},
      {"join to the left", {14, 15, 18, 20, 22}, {}, {15, 18, 19, 20}, {2, 2, 1, 1, 6, 1}},
      {"take over the next", {12, 14, 15, 16, 17, 20, 22}, {14, 22}, {15, 16, 17, 20, 24}, {2, 2, 1, 1, 6, 1}},
      {"take over an overflow above",
       {12, 18, 21, 26, 27, 33, 34, 36},
       {21, 26},
       {18, 27, 33, 34, 36},
       {2, 2, 1, 1, 6, 1}},
      {"ascending", {14, 15, 16, 17, 20, 22}, {}, {24, 25, 26, 28, 29, 30}, {2, 7, 1, 1, 1, 1}},
      {"scan beside inserts", {14, 15, 16, 20, 22, 24, 28}, {}, {17, 18, 21, 25, 29}, {0, 6, 1, 1, 1, 5}},
      {"scan beside erasures", {12, 14, 15, 18, 20, 22, 23, 24, 25, 28}, {}, {14, 18, 20, 23, 25}, {0, 1, 1, 1, 6, 5}},
  };
}

/// Strings of which many have the same first eight bytes.
inline std::vector<RaceMix<std::string>> bskip_string_mixes() {
  const std::string path = "abcdefgh";
  std::vector<std::string> keys;
  for (char last = 'b'; last <= 'i'; ++last) keys.push_back(path + last);
  return {
      {"insert strings", keys, {}, {path, path + "a", path + "c", path + "cc", path + "j", "b"}, {3, 6, 1, 1, 2, 1}},
      {"erase strings", keys, {keys[1], keys[6]}, {keys[0], keys[2], keys[4], keys[5], "a"}, {3, 2, 1, 1, 6, 1}},
  };
}

}  // namespace latchlab::testing
