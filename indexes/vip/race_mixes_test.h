#pragma once
// Programs with which the race finder explores `vip`: chains of several keys, reordered while other threads look up,
// change and split them. Here a round of learning takes three lookups of a thread, and begins with its first.
#include <string>
#include <vector>

#include "indexes/explore_test.h"
#include "indexes/vip/vip.h"

namespace latchlab::testing {

/// Returns the first numbers with hashes that end in the `bits` bits of `bucket`.
inline std::vector<u64> numbers_in(u64 bucket, u32 bits, u32 count) {
  std::vector<u64> out;
  for (u64 number = 0; out.size() < count; ++number) {
    if (growing::low_bits(chained::hash_of(U64Key(number)), bits) == bucket) out.push_back(number);
  }
  return out;
}

inline std::vector<RaceMix<u64>> vip_mixes() {
  const std::vector<u64> chain = numbers_in(1, 6, 5), halves = numbers_in(1, 1, 5);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"one chain", {chain[0], chain[1], chain[2]}, {}, {chain[0], chain[1], chain[2]}, {8, 1, 3, 1, 1, 0}},
      {"one chain that changes", {chain[0], chain[1], chain[2]}, {}, chain, {7, 2, 1, 1, 2, 0}},
      {"walks over a chain", {halves[0], halves[1], halves[2]}, {}, halves, {5, 2, 1, 1, 2, 4}},
      {"a chain that splits", {halves[0], halves[1], halves[2]}, {}, halves, {8, 4, 1, 1, 1, 0}},
  };
}

inline std::vector<RaceMix<std::string>> vip_string_mixes() {
  const std::vector<std::string> keys{"", "a", "ab", std::string(40, 'x')};
  return {{"strings", {keys[0], keys[1], keys[2]}, {}, keys, {8, 2, 1, 1, 2, 0}}};
}

}  // namespace latchlab::testing
