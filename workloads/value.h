#pragma once

// The value of a record, made so that every value that is read can be checked against its key without a table:
//
//     | 32 bits: tag of the key | 32 bits: stamp of the operation that wrote it |
//
// A find that returns another key's value, a torn value or freed memory shows a wrong tag, except for one in 2^32. If
// a value has fewer bits, tag and stamp have half of them each. Of 32 bits, one such mistake in 2^16 goes unnoticed.
// The empty value shows none.

#include <bit>
#include <string_view>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab {

/// Bytes of a value by default: those that a cell of an index keeps. Values of any other size are in a store
/// (indexes/sized.h).
inline constexpr u32 kPlainValueBytes = 8;
inline constexpr u32 kMostValueBytes = 16 << 20;

/// Returns the bits of a value that can be checked, if it has so many bytes: those of its first word.
[[nodiscard]] constexpr u32 checked_bits(u32 bytes) {
  return 8 * (bytes < kPlainValueBytes ? bytes : kPlainValueBytes);
}

/// Returns a hash of a key; its high bits are the key's tag.
///
/// Every operation with a value needs it, so it is a single product. The factors are the key and the key itself,
/// rotated by a number of bits that no usual stride has. A constant factor would make the tags of equally spaced keys
/// too regular to stand for places. The sums of neighbours' tags would be equal too, and checksums consist of such
/// sums. The key 0 has a tag.
[[nodiscard]] constexpr u64 tag_hash(u64 key) {
  const u64 x = key ^ 0x9e3779b97f4a7c15u;
  const u64 folded = multiply_fold(x, std::rotl(x, 17) ^ kMixFactor);
  return folded ^ folded << 32;
}
[[nodiscard]] inline u64 tag_hash(std::string_view key) { return hash_bytes(key); }

[[nodiscard]] constexpr u32 tag_of(const auto& key) { return static_cast<u32>(tag_hash(key) >> 32); }

/// Returns the value that operation number `stamp` writes for `key`; only low bits of the stamp are kept. `bits` is the
/// width of the value: a multiple of 8 up to 64. An empty value is 0.
template <class Raw>
[[nodiscard]] constexpr u64 value_of(const Raw& key, u64 stamp, u32 bits = 64) {
  if (bits == 0) return 0;
  const u64 stamp_bits = (u64{1} << bits / 2) - 1;
  return (tag_hash(key) >> (64 - bits) & ~stamp_bits) | (stamp & stamp_bits);
}

/// Returns the value that an increment makes of a value of so many bits: the same tag, and the next stamp, which starts
/// again at 0 after the last.
[[nodiscard]] constexpr u64 incremented(u64 value, u32 bits = 64) {
  const u64 stamp_bits = (u64{1} << bits / 2) - 1;
  return (value & ~stamp_bits) | ((value + 1) & stamp_bits);
}

[[nodiscard]] constexpr bool tag_matches(const auto& key, u64 value, u32 bits = 64) {
  const u32 half = bits / 2;
  return u64{tag_of(key)} >> (32 - half) == value >> half;
}

}  // namespace latchlab
