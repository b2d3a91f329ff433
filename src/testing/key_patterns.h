#pragma once
// Sets of keys that a radix tree must not get wrong, as byte strings: every fan-out of every level, paths
// that share and part at every position, keys that are prefixes of keys, and the bytes at the ends of their
// range. And how messages show a key.
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"

namespace latchlab::testing {

struct KeyPattern {
  std::string name;
  std::vector<std::string> keys;  // different from each other, in no particular order
};

/// Keys of eight bytes: numbers, most significant byte first. `seed` decides what is random in them.
std::vector<KeyPattern> number_patterns(u64 seed);

/// Keys of any length, the empty one and one of 100,000 bytes included.
std::vector<KeyPattern> string_patterns(u64 seed);

/// The keys, and for each its neighbours in the order: where scans begin that begin at no key. `numbers`:
/// eight bytes each.
std::vector<std::string> with_neighbours(const std::vector<std::string>& keys, bool numbers);

/// A key as messages show it: printable bytes, the others in hexadecimal; long ones shortened.
std::string shown(std::string_view key);

}  // namespace latchlab::testing
