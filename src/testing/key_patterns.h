#pragma once
// Sets of difficult keys, above all for a radix tree, as byte strings:
//   - every fan-out at every level;
//   - paths that share bytes and part at every position;
//   - keys that are prefixes of others;
//   - for tables by the hash of a string: keys whose hashes are equal;
//   - the least and the greatest bytes.
// Also the form in which messages show a key.
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"

namespace latchlab::testing {

struct KeyPattern {
  std::string name;
  std::vector<std::string> keys;  // different from each other, in no particular order
};

/// Returns patterns of eight-byte keys: numbers, most significant byte first. `seed` determines their random parts.
std::vector<KeyPattern> number_patterns(u64 seed);

/// Returns patterns of keys of any length, from the empty key to one of 70,000 bytes.
std::vector<KeyPattern> string_patterns(u64 seed);

/// Returns the keys and, for each, its neighbours in the order, so that scans also begin between keys. `numbers` says
/// that all have eight bytes.
std::vector<std::string> with_neighbours(const std::vector<std::string>& keys, bool numbers);

/// Returns a key in the form that messages show: unprintable bytes in hexadecimal, long keys shortened.
std::string shown(std::string_view key);

}  // namespace latchlab::testing
