#include "src/base/hash.h"

#include <set>
#include <string>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

/// The factor that undoes a multiplication by an odd number: each Newton step doubles the number of right
/// low bits.
constexpr u64 inverse_factor(u64 odd) {
  u64 inverse = odd;
  for (int step = 0; step < 6; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

/// Undoes x ^= x >> shift, for shift of 22 and more.
constexpr u64 unshift(u64 x, int shift) {
  const u64 twice = x ^ (x >> shift);
  return x ^ (twice >> shift);
}

/// The x for which mix64(x) == y.
[[nodiscard]] constexpr u64 unmix64(u64 y) {
  constexpr u64 kInverse = inverse_factor(kMixFactor);
  y = unshift(y, 29) * kInverse;
  y = unshift(y, 32) * kInverse;
  y = unshift(y, 29) * kInverse;
  return unshift(y, 32);
}

TEST_CASE("mix64 has an inverse, so it is a bijection") {
  static_assert(unmix64(mix64(0x0123456789abcdefull)) == 0x0123456789abcdefull);
  Rng rng(test_seed());
  for (u64 x : {u64{0}, u64{1}, ~u64{0}, u64{1} << 63, u64{1} << 32}) {
    CHECK(unmix64(mix64(x)) == x);
    CHECK(mix64(unmix64(x)) == x);
  }
  u64 wrong = 0;
  for (int round = 0; round < 100'000; ++round) {
    const u64 x = rng();
    wrong += unmix64(mix64(x)) != x || mix64(unmix64(x)) != x;
  }
  CHECK(wrong == 0);
}

TEST_CASE("mix32 has an inverse, so it is a bijection") {
  const auto unmix32 = [](u32 y) {
    y ^= y >> 16;
    y *= 0x43021123u;
    y ^= y >> 15 ^ y >> 30;
    y *= 0x1d69e2a5u;
    return y ^ y >> 16;
  };
  Rng rng(test_seed());
  u64 wrong = unmix32(mix32(0)) != 0 || unmix32(mix32(~u32{0})) != ~u32{0};
  for (int round = 0; round < 100'000; ++round) {
    const auto x = static_cast<u32>(rng());
    wrong += unmix32(mix32(x)) != x || mix32(unmix32(x)) != x;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every bit of mix64 depends on every input bit about half the time") {
  constexpr int kTrials = 4096;
  for (int in = 0; in < 64; ++in) {
    int flips[64] = {};
    for (u64 trial = 0; trial < kTrials; ++trial) {
      const u64 difference = mix64(trial) ^ mix64(trial ^ u64{1} << in);
      for (int out = 0; out < 64; ++out) flips[out] += difference >> out & 1;
    }
    for (int out = 0; out < 64; ++out) {
      INFO("input bit " << in << ", output bit " << out);
      REQUIRE(flips[out] > kTrials * 0.4);
      REQUIRE(flips[out] < kTrials * 0.6);
    }
  }
}

TEST_CASE("multiply_high is the high word of the product") {
  static_assert(multiply_high(~u64{0}, ~u64{0}) == ~u64{0} - 1);
  static_assert(multiply_high(u64{1} << 32, u64{1} << 32) == 1);
  static_assert(multiply_high(3, 5) == 0);
}

TEST_CASE("hash_bytes tells lengths, positions and seeds apart") {
  std::set<u64> hashes;
  std::size_t made = 0;
  for (std::size_t length = 0; length <= 70; ++length) {
    hashes.insert(hash_bytes(std::string(length, '\0')));
    ++made;
    for (std::size_t at = 0; at < length; ++at) {
      for (const char c : {'\x01', '\x80'}) {
        std::string text(length, '\0');
        text[at] = c;
        hashes.insert(hash_bytes(text));
        ++made;
      }
    }
  }
  CHECK(hashes.size() == made);
  CHECK(hash_bytes("key", 1) != hash_bytes("key", 2));
  CHECK(hash_bytes({}) == hash_bytes(""));
}

TEST_CASE("hash_bytes does not read beyond its bytes") {
  const std::string same = "a key of a length";
  for (std::size_t length = 0; length <= same.size(); ++length) {
    CHECK(hash_bytes(std::string_view(same).substr(0, length)) == hash_bytes(same.substr(0, length) + ""));
  }
}

TEST_CASE("hashes are the same on every machine") {
  // Keys, streams and tags of old results depend on these words: a change of them is a change of every
  // workload.
  CHECK(mix64(1) == 0x071894de00d9981full);
  CHECK(mix32(1) == 0x688990c0u);
  CHECK(hash_bytes("latchlab") == 0x034165d88fffad19ull);
  CHECK(draw(1, 2, 3) == 0x888464a94ee64c06ull);
}

}  // namespace
}  // namespace latchlab
