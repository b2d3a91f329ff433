#pragma once
// Programs with which the race finder explores ART: small trees that are one operation away from a structural change,
// and the keys that cause it. A number is spelled by its eight bytes, most significant first, like paths in the tree.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/explore_test.h"
#include "src/testing/race_program.h"

namespace latchlab::testing {

/// Returns the number that begins with these bytes; its other bytes are zero.
inline u64 spelled(std::initializer_list<u32> bytes) {
  u64 number = 0, shift = 64;
  for (const u32 byte : bytes) number |= u64{byte} << (shift -= 8);
  return number;
}

inline std::vector<u64> together(std::initializer_list<std::vector<u64>> parts) {
  std::vector<u64> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Returns {1, first}, {1, first + step}, ...: one child each in the node below the root's byte 1.
inline std::vector<u64> children(u32 count, u32 first = 10, u32 step = 2) {
  std::vector<u64> keys;
  for (u32 i = 0; i < count; ++i) keys.push_back(spelled({1, first + i * step}));
  return keys;
}

inline std::vector<RaceMix<u64>> number_mixes() {
  // A Node4 below the root's byte 1 with four children. The leaf of the first child has two pairs.
  const std::vector<u64> four = together({children(4), {spelled({1, 10, 0, 0, 0, 0, 0, 1})}});
  // Five keys in a node at level 4 with a compressed path.
  std::vector<u64> deep;
  for (u32 i = 0; i < 5; ++i) deep.push_back(spelled({1, 2, 3, 4, 10 + i}));
  // Five values in a node at the last byte.
  std::vector<u64> values;
  for (u32 i = 0; i < 5; ++i) values.push_back(spelled({1, 2, 3, 4, 5, 6, 7, 10 + i}));
  // A node with three children: two leaves, and a node of five keys.
  std::vector<u64> family{spelled({1, 10}), spelled({1, 20})};
  for (u32 i = 0; i < 5; ++i) family.push_back(spelled({1, 30, 40 + i}));
  // A leaf of four pairs that share three bytes.
  std::vector<u64> leaf;
  for (u32 i = 0; i < 4; ++i) leaf.push_back(spelled({1, 2, 3, 10 * i, i}));

  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"grow 4 to 16",
       four,
       {},
       {four[0], four[1], spelled({1, 11}), spelled({1, 50}), spelled({1, 60})},
       {3, 6, 1, 1, 2, 0}},
      {"grow 16 to 48",
       children(16),
       {},
       {spelled({1, 10}), spelled({1, 40}), spelled({1, 41}), spelled({1, 60})},
       {3, 6, 1, 1, 2, 0}},
      {"shrink 16 to 4",
       children(6),
       {spelled({1, 12})},
       {spelled({1, 10}), spelled({1, 14}), spelled({1, 16}), spelled({1, 50})},
       {3, 2, 1, 1, 6, 0}},
      {"shrink 48 to 16",
       children(18),
       {spelled({1, 10}), spelled({1, 12}), spelled({1, 14}), spelled({1, 16}), spelled({1, 18})},
       {spelled({1, 20}), spelled({1, 30}), spelled({1, 44}), spelled({1, 60})},
       {3, 2, 1, 1, 6, 0}},
      {"prefix split",
       deep,
       {},
       {deep[0], deep[4], spelled({1, 2, 3, 9}), spelled({1, 2, 9}), spelled({1, 9})},
       {3, 5, 1, 1, 3, 1}},
      {"leaf split",
       leaf,
       {},
       {leaf[0], leaf[3], spelled({1, 2, 3, 0, 1}), spelled({1, 2, 7}), spelled({1, 9})},
       {3, 5, 1, 1, 3, 1}},
      {"merge", family, {}, {family[0], family[1], family[2], spelled({1, 30, 60})}, {3, 2, 1, 1, 6, 1}},
      {"fold into a leaf",
       {four[1], four[2], four[3], four[0], four[4]},
       {four[4]},
       {four[0], four[1], four[2], four[3]},
       {3, 2, 2, 1, 6, 0}},
      {"values", values, {values[2]}, {values[0], values[1], values[3], values[2]}, {3, 3, 2, 2, 4, 1}},
      {"update beside copy", {leaf[0], leaf[1]}, {}, {leaf[0], leaf[1], leaf[2], leaf[3]}, {2, 3, 4, 3, 3, 0}},
      {"scan beside changes",
       family,
       {},
       {family[0], family[1], family[2], family[4], spelled({1, 30, 60}), spelled({2})},
       {0, 3, 1, 1, 3, 5}},
  };
}

/// Returns `count` keys of one node of values, at the last byte.
inline std::vector<u64> neighbours(u32 count) {
  std::vector<u64> keys;
  for (u32 i = 0; i < count; ++i) keys.push_back(spelled({1, 2, 3, 4, 5, 6, 7, 10 + i}));
  return keys;
}

/// Mixes on nodes so large that a schedule takes long. They run under one policy of each transaction class.
inline std::vector<RaceMix<u64>> large_node_mixes() {
  // The node of byte 1 had 49 children and keeps 34. The first and the last of them are alone in their lines of slots.
  // Without either of them the node becomes a Node48.
  const std::vector<u64> some = children(49);
  // A Node16 in which all slots are used and five of them erased. One more key packs it.
  const std::vector<u64> gaps = children(16);
  // The same sizes in nodes of values, a third of them 0: at first those of keys 2, 5, 8 ...
  const std::vector<u64> values = neighbours(60), absent{values[0] + 80, values[0] + 90, values[0] + 100};
  constexpr u32 kZeros = 3;
  return {
      {"grow 48 to 256",
       children(48),
       {},
       {spelled({1, 10}), spelled({1, 104}), spelled({1, 11}), spelled({1, 200}), spelled({1, 201})},
       {3, 6, 1, 1, 2, 0}},
      {"shrink 256 to 48",
       some,
       together({{some.begin(), some.begin() + 14}, {some[47]}}),
       {some[14], some[15], some[48], spelled({1, 200})},
       {3, 2, 1, 1, 6, 0}},
      {"pack a node with erased slots",
       gaps,
       {gaps.begin() + 3, gaps.begin() + 8},
       {gaps[0], gaps[3], gaps[15], spelled({1, 11}), spelled({1, 60})},
       {3, 6, 1, 1, 2, 1}},
      {"values grow 48 to 256",
       neighbours(48),
       {},
       {values[1], values[2], absent[0], absent[1], absent[2]},
       {3, 6, 1, 1, 2, 0},
       3,
       nullptr,
       kZeros},
      {"values shrink 256 to 48",
       neighbours(49),
       {values.begin() + 3, values.begin() + 14},
       {values[1], values[2], values[48], absent[0]},
       {3, 2, 1, 1, 6, 0},
       3,
       nullptr,
       kZeros},
      {"values in a node of 256",
       values,
       {values[5]},
       {values[1], values[2], values[5], absent[0]},
       {3, 4, 3, 2, 4, 1},
       4,
       nullptr,
       kZeros},
  };
}

/// Mixes in which a scan returns from a child to a node that changes meanwhile.
inline std::vector<RaceMix<u64>> scan_mixes() {
  // A full Node4: a leaf, a node of five leaves, a leaf, and a node of two leaves, which one erase removes.
  std::vector<u64> full{spelled({1, 10}), spelled({1, 30}), spelled({1, 40, 7})};
  for (u32 i = 0; i < 4; ++i) full.push_back(spelled({1, 40, 8, i}));
  for (u32 i = 0; i < 5; ++i) full.push_back(spelled({1, 20, 40 + i}));
  // The same below a compressed path, in a Node16 that two erases turn into a Node4.
  std::vector<u64> wide{spelled({2})};
  for (const u64 key : full) wide.push_back(spelled({1, 5, 5}) | key << 8 >> 24);
  wide.push_back(spelled({1, 5, 5, 50}));
  // Values in a node at the last byte, with a leaf before it and one after it.
  std::vector<u64> values{spelled({1, 2, 3, 4, 5, 1}), spelled({1, 2, 3, 4, 5, 9})};
  for (u32 i = 0; i < 5; ++i) values.push_back(spelled({1, 2, 3, 4, 5, 6, 7, 10 + i}));
  return {
      {"scan beside growth above",
       full,
       {},
       {full[0], full[1], full[7], spelled({1, 5}), spelled({1, 25}), spelled({1, 35}), spelled({1, 50})},
       {1, 5, 1, 1, 2, 5}},
      {"scan beside merge", full, {}, {full[0], full[1], full[2], full[3], full[7], full[8]}, {1, 2, 1, 1, 6, 5}},
      {"scan beside shrinkage above", wide, {}, {wide[1], wide[2], wide[8], wide[13]}, {1, 2, 1, 1, 6, 5}},
      {"scan beside split above",
       wide,
       {},
       {wide[1], wide[2], spelled({1, 4}), spelled({1, 5, 6}), spelled({1, 5, 5, 20, 43, 1})},
       {1, 5, 1, 1, 3, 5}},
      {"scan beside values", values, {}, {values[0], values[1], values[2], values[4], values[6]}, {1, 3, 2, 2, 4, 5}},
  };
}

/// ART with batches of two pairs, so that a scan begins again from the root all the time.
template <class Layout, class Key>
class ArtInSmallBatches : public Art<Layout, Key> {
 public:
  template <class Tx>
  Attempt<bool> gather_in(Tx& tx, const Key& from, bool after, std::size_t wanted,
                          typename Art<Layout, Key>::Batch& batch) const {
    return Art<Layout, Key>::gather_in(tx, from, after, std::min(wanted, std::size_t{2}), batch);
  }
};

inline std::vector<RaceMix<std::string>> string_mixes() {
  const std::string path = "abcdefgh";  // twice as long as the part of its path that a node stores
  // All keys share eight bytes, and nodes skip four of them.
  const std::vector<std::string> skipping{path + "1", path + "2", path + "3x", path + "3y"};
  // Other keys go and come between two steps of an insert: finding the byte at which the paths part, and descending to
  // it again.
  constexpr RaceVerb kFind = RaceVerb::kFind, kInsert = RaceVerb::kInsert, kErase = RaceVerb::kErase;
  static const RaceScript<std::string> leaf_came{{{kInsert, "abXY"}},
                                                 {{kErase, path + "1"}, {kErase, path + "2"}, {kInsert, "abX"}},
                                                 {{kFind, "abX"}, {kFind, "abXY"}}};
  static const RaceScript<std::string> node_came{
      {{kInsert, "abXY"}},
      {{kErase, path + "1"}, {kErase, path + "2"}, {kInsert, "abX1"}, {kInsert, "abX2"}},
      {{kFind, "abXY"}}};
  return {
      {"split in skipped bytes",
       skipping,
       {},
       {path + "1", path + "3x", path + "4", "abX", "abcXefgh1", path},
       {3, 5, 1, 1, 3, 1}},
      {"one key a prefix of another", {"a", "ab", "abc"}, {}, {"", "a", "ab", "abc", "abcd"}, {3, 4, 1, 1, 4, 1}},
      {"split beside a leaf that came instead", {path + "1", path + "2"}, {}, {"abX", "abXY"}, {}, 0, &leaf_came},
      {"split beside a node that came instead",
       {path + "1", path + "2"},
       {},
       {"abX1", "abX2", "abXY"},
       {},
       0,
       &node_came},
      {"string merge",
       {path + "1", path + "2x", path + "2y"},
       {},
       {path + "1", path + "2x", path + "2y", path + "2z"},
       {3, 2, 1, 1, 6, 1}},
  };
}

}  // namespace latchlab::testing
