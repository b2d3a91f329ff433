#pragma once
// Programs with which the race finder explores the B+-tree: small trees of four keys a node that are one operation away
// from a split or a merge, and the keys that cause it.
#include <string>
#include <vector>

#include "indexes/btree/btree.h"
#include "indexes/explore_test.h"
#include "src/testing/race_program.h"

namespace latchlab::testing {

/// Returns the keys first, first + 10, ... up to `last`. Inserted in this order, they fill leaves of four.
inline std::vector<u64> tens(u64 first, u64 last) {
  std::vector<u64> keys;
  for (u64 key = first; key <= last; key += 10) keys.push_back(key);
  return keys;
}

inline std::vector<RaceMix<u64>> btree_mixes() {
  constexpr u64 kMost = ~u64{0};
  // One leaf; two leaves; five leaves, so that the root is full; ten leaves below two inner nodes.
  const std::vector<u64> one = tens(10, 40), two = tens(10, 80), five = tens(10, 200), ten = tens(10, 400);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"from the empty tree", {}, {}, {10, 20, 30, 40, 50, kMost}, {2, 6, 1, 1, 2, 1}, 4},
      {"split the root leaf", one, {}, {10, 15, 40, 45, kMost}, {3, 6, 1, 1, 2, 1}},
      {"split a leaf", two, {}, {10, 15, 25, 50, 75, 85}, {3, 6, 1, 1, 2, 1}},
      {"split the root", five, {}, {10, 15, 55, 110, 195, 205}, {3, 6, 1, 1, 2, 1}},
      {"split inner nodes", ten, {}, {10, 15, 215, 395, 405}, {3, 6, 1, 1, 2, 1}},
      {"merge leaves", two, {20, 30, 40, 70, 80}, {10, 50, 60, 55}, {3, 2, 1, 1, 6, 1}},
      {"merge beside a full leaf", five, {20, 30, 40, 60, 70, 80}, {10, 50, 90, 95, 100}, {3, 3, 1, 1, 5, 1}},
      {"merge inner nodes",
       ten,
       {20, 30, 40, 60, 70, 80, 100, 110, 120, 140, 150, 160, 180, 190, 200, 220, 230, 240, 260, 270, 280},
       {10, 50, 90, 210, 250},
       {2, 1, 1, 1, 7, 1}},
      {"split and merge", two, {30, 40}, {10, 20, 55, 65, 80}, {2, 5, 1, 1, 5, 1}},
      {"ascending", tens(10, 160), {}, {170, 180, 190, 200, 210, 220}, {2, 7, 1, 1, 1, 1}},
      {"scan beside splits", five, {}, {10, 15, 55, 115, 165, 205}, {0, 6, 1, 1, 1, 5}},
      {"scan beside merges", five, {20, 30, 40, 60, 70, 80, 100, 110}, {10, 50, 90, 120, 130}, {0, 1, 1, 1, 6, 5}},
  };
}

/// Strings of which many have the same first eight bytes.
inline std::vector<RaceMix<std::string>> btree_string_mixes() {
  const std::string path = "abcdefgh";
  std::vector<std::string> keys;
  for (char last = 'b'; last <= 'i'; ++last) keys.push_back(path + last);
  return {
      {"split strings", keys, {}, {path, path + "a", path + "c", path + "cc", path + "j", "b"}, {3, 6, 1, 1, 2, 1}},
      {"merge strings",
       keys,
       {keys[1], keys[2], keys[3], keys[6], keys[7]},
       {keys[0], keys[4], keys[5], path + "e", "a"},
       {3, 2, 1, 1, 6, 1}},
  };
}

}  // namespace latchlab::testing
