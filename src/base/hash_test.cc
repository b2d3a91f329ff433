#include "src/base/hash.h"

#include <set>
#include <string>

#include "src/arch/opaque.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/unmixed.h"

namespace latchlab {
namespace {

TEST_CASE("mix64 has an inverse, so it is a bijection") {
  static_assert(testing::unmixed(mix64(0x0123456789abcdefull)) == 0x0123456789abcdefull);
  Rng rng(test_seed());
  for (u64 x : {u64{0}, u64{1}, ~u64{0}, u64{1} << 63, u64{1} << 32}) {
    CHECK(testing::unmixed(mix64(x)) == x);
    CHECK(mix64(testing::unmixed(x)) == x);
  }
  u64 wrong = 0;
  for (int round = 0; round < 100'000; ++round) {
    const u64 x = rng();
    wrong += testing::unmixed(mix64(x)) != x || mix64(testing::unmixed(x)) != x;
  }
  CHECK(wrong == 0);
}

TEST_CASE("stafford64 has an inverse, so it is a bijection") {
  const auto unstafford64 = [](u64 y) {
    y = (y ^ y >> 31 ^ y >> 62) * 0x319642b2d24d8ec3u;
    y = (y ^ y >> 27 ^ y >> 54) * 0x96de1b173f119089u;
    return y ^ y >> 30 ^ y >> 60;
  };
  Rng rng(test_seed());
  u64 wrong = unstafford64(stafford64(0)) != 0 || unstafford64(stafford64(~u64{0})) != ~u64{0};
  for (int round = 0; round < 100'000; ++round) {
    const u64 x = rng();
    wrong += unstafford64(stafford64(x)) != x || stafford64(unstafford64(x)) != x;
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

TEST_CASE("every output bit depends on every input bit about half the time") {
  const auto mix = GENERATE(mix64, stafford64);
  constexpr int kTrials = 4096;
  for (int in = 0; in < 64; ++in) {
    int flips[64] = {};
    for (u64 trial = 0; trial < kTrials; ++trial) {
      const u64 difference = mix(trial) ^ mix(trial ^ u64{1} << in);
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
  static_assert(multiply_fold(~u64{0}, 3) == (2 ^ (~u64{0} - 2)));
  // At run time another instruction does it.
  const u64 most = opaque(~u64{0}), half = opaque(u64{1} << 32);
  CHECK(multiply_high(most, most) == ~u64{0} - 1);
  CHECK(multiply_high(half, half) == 1);
  CHECK(multiply_fold(most, 3) == (2 ^ (~u64{0} - 2)));
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
  // Keys, streams and tags of old results depend on these words: another word would change every workload.
  CHECK(mix64(1) == 0x071894de00d9981full);
  CHECK(stafford64(1) == 0x5692161d100b05e5ull);
  CHECK(mix32(1) == 0x688990c0u);
  CHECK(hash_bytes("latchlab") == 0x034165d88fffad19ull);
  CHECK(draw(1, 2, 3) == 0x444961502155d405ull);
}

}  // namespace
}  // namespace latchlab
