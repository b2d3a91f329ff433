#pragma once

// What a record holds, so that every value that is read can be checked against its key without a table:
//
//     | 32 bits: tag of the key | 32 bits: stamp of the operation that wrote it |
//
// A find that returns another key's value, a torn value or freed memory shows a wrong tag (but for one in
// 2^32). Where an index has room for 32 bits they are 16 and 16, and one such mistake in 2^16 goes unnoticed.

#include <bit>
#include <string_view>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

/// Of all values where nobody says it: what an index keeps. Larger ones are apart from it (harness/loop/payloads.h).
inline constexpr u32 kPlainValueBytes = 8;
inline constexpr u32 kMostValueBytes = 64 << 10;

/// Of the hash of a key the high bits are its tag. One product, since every operation's value takes one, but of the key
/// with itself, turned by a number of bits that no usual stride has: with a constant, tags of equally spaced keys would
/// be too regular to stand for places, and sums of the tags of neighbours would be equal, of which checksums consist.
/// The key 0 has a tag.
[[nodiscard]] constexpr u64 tag_hash(u64 key) {
  const u64 x = key ^ 0x9e3779b97f4a7c15u;
  const u64 folded = multiply_fold(x, std::rotl(x, 17) ^ kMixFactor);
  return folded ^ folded << 32;
}
[[nodiscard]] inline u64 tag_hash(std::string_view key) { return hash_bytes(key); }

[[nodiscard]] constexpr u32 tag_of(const auto& key) { return static_cast<u32>(tag_hash(key) >> 32); }

/// The value that operation number `stamp` (its low bits are kept) writes for `key`. `bits`: of the value, 64 or 32.
template <class Raw>
[[nodiscard]] constexpr u64 value_of(const Raw& key, u64 stamp, u32 bits = 64) {
  const u64 stamp_bits = (u64{1} << bits / 2) - 1;
  return (tag_hash(key) >> (64 - bits) & ~stamp_bits) | (stamp & stamp_bits);
}

[[nodiscard]] constexpr bool tag_matches(const auto& key, u64 value, u32 bits = 64) {
  const u32 half = bits / 2;
  return tag_of(key) >> (32 - half) == value >> half;
}

}  // namespace latchlab
