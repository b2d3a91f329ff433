#pragma once
// The inverse of mix64. It makes keys with chosen hashes, so that they collide.
#include "src/base/hash.h"

namespace latchlab::testing {

/// Returns the key whose mix64 is `hash`.
constexpr u64 unmixed(u64 hash) {
  u64 inverse = kMixFactor;  // modulo 2^64, by Newton's iteration
  for (u32 i = 0; i < 6; ++i) inverse *= 2 - kMixFactor * inverse;
  const auto back = [](u64 x) { return x ^ x >> 29 ^ x >> 58; };
  u64 x = back(hash) * inverse;
  x = (x ^ x >> 32) * inverse;
  x = back(x) * inverse;
  return x ^ x >> 32;
}
static_assert(mix64(unmixed(0x0123456789abcdef)) == 0x0123456789abcdef);

}  // namespace latchlab::testing
