#pragma once

// Hash functions of our own, so that every machine and every library version makes the same keys, streams and
// checksums.
//
//   mix64       a bijection of the 64-bit words in three rounds of xor-shift and multiplication: Jon Maiga's mx3
//               finaliser, which passes PractRand on counters
//   stafford64  a bijection in two rounds: David Stafford's Mix13, the finaliser of SplitMix64, which passes BigCrush
//               on counters. It makes distinct keys of distinct record numbers; tables mix these keys by other
//               functions
//   hash_bytes  folds 16 bytes a step with a 64x64->128 multiplication
//
// None resists an adversary: they make tags, checksums and table positions of our own data.

#include <bit>
#include <cstring>
#include <string_view>

#include "src/arch/multiply.h"
#include "src/base/types.h"

namespace latchlab {

inline constexpr u64 kMixFactor = 0xbea225f9eb34556dull;  ///< odd, without a visible pattern of bits

/// Returns the high word of the 128-bit product.
[[nodiscard]] constexpr u64 multiply_high(u64 a, u64 b) { return multiply_wide(a, b).high; }

/// Returns the 128-bit product folded to 64 bits: high word xor low word.
[[nodiscard]] constexpr u64 multiply_fold(u64 a, u64 b) {
  const Product product = multiply_wide(a, b);
  return product.high ^ product.low;
}

/// Maps 64 bits to 64 bits one to one; every input bit changes every output bit with probability about one half.
/// mix64(0) is 0.
[[nodiscard]] constexpr u64 mix64(u64 x) {
  x ^= x >> 32;
  x *= kMixFactor;
  x ^= x >> 29;
  x *= kMixFactor;
  x ^= x >> 32;
  x *= kMixFactor;
  return x ^ (x >> 29);
}

/// Returns the x whose mix64 is `hash`.
[[nodiscard]] constexpr u64 unmix64(u64 hash) {
  constexpr u64 kInverse = [] {
    u64 inverse = kMixFactor;  // modulo 2^64, by Newton's iteration
    for (u32 i = 0; i < 6; ++i) inverse *= 2 - kMixFactor * inverse;
    return inverse;
  }();
  const auto back = [](u64 x) { return x ^ x >> 29 ^ x >> 58; };
  u64 x = back(hash) * kInverse;
  x = (x ^ x >> 32) * kInverse;
  x = back(x) * kInverse;
  return x ^ x >> 32;
}

/// Maps 64 bits likewise, in two rounds. stafford64(0) is 0.
[[nodiscard]] constexpr u64 stafford64(u64 x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// Maps 32 bits likewise (lowbias32 of Christopher Wellons). mix32(0) is 0.
[[nodiscard]] constexpr u32 mix32(u32 x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

/// Returns the x whose mix32 is `hash`.
[[nodiscard]] constexpr u32 unmix32(u32 hash) {
  u32 x = hash ^ hash >> 16;
  x *= 0x43021123u;  // the inverses of the factors of mix32
  x ^= x >> 15 ^ x >> 30;
  x *= 0x1d69e2a5u;
  return x ^ x >> 16;
}
static_assert(unmix32(mix32(0x01234567)) == 0x01234567);

/// Maps 16 bits likewise (hash16_xm2 of Christopher Wellons). mix16(0) is 0.
[[nodiscard]] constexpr u16 mix16(u16 x16) {
  u32 x = x16;
  x = (x ^ x >> 8) * 0x88b5u & 0xffff;
  x = (x ^ x >> 7) * 0xdb2du & 0xffff;
  return static_cast<u16>(x ^ x >> 9);
}

/// Returns a 64-bit hash of the bytes; the same on every little-endian machine. O(length), about 16 bytes in 2 ns.
[[nodiscard]] inline u64 hash_bytes(std::string_view bytes, u64 seed = 0) {
  constexpr u64 kLeft = 0x9e3779b97f4a7c15ull;
  constexpr u64 kRight = 0xd1b54a32d192ed03ull;
  const auto word_at = [](const char* p) {
    u64 word;
    std::memcpy(&word, p, sizeof word);
    return word;
  };
  // The length is mixed, because a difference of the first bytes could cancel an unmixed one.
  u64 state = mix64(mix64(seed ^ kLeft) + bytes.size());
  const char* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 16; p += 16, left -= 16) {
    state = multiply_fold(word_at(p) ^ kLeft ^ state, word_at(p + 8) ^ kRight ^ std::rotl(state, 32));
  }
  u64 low = 0;
  u64 high = 0;
  if (left >= 8) {
    low = word_at(p);
    high = word_at(p + left - 8);
  } else if (left > 0) {
    std::memcpy(&low, p, left);
  }
  return mix64(state ^ multiply_fold(low ^ kLeft ^ state, high ^ kRight ^ std::rotl(state, 32)));
}

}  // namespace latchlab
