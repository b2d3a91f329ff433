#include "workloads/value.h"

#include <cmath>
#include <set>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("a value belongs to its key and to no other") {
  Rng rng(test_seed());
  u64 wrong = 0;
  u64 confused = 0;
  for (u64 stamp = 0; stamp < 100'000; ++stamp) {
    const u64 key = rng();
    wrong += !tag_matches(key, value_of(key, stamp));
    confused += tag_matches(key + 1, value_of(key, stamp));
  }
  CHECK(wrong == 0);
  CHECK(confused <= 2);
  CHECK(static_cast<u32>(value_of(u64{7}, 0x1'2345'6789)) == 0x2345'6789);
}

TEST_CASE("a value of 32 bits belongs to its key too, with a shorter tag and stamp") {
  Rng rng(test_seed());
  u64 wrong = 0, confused = 0, wide = 0;
  for (u64 stamp = 0; stamp < 100'000; ++stamp) {
    const u64 key = rng(), value = value_of(key, stamp, 32);
    wide += value >> 32 != 0;
    wrong += !tag_matches(key, value, 32) || (value & 0xffff) != (stamp & 0xffff);
    confused += tag_matches(key + 1, value, 32);
  }
  CHECK(wide == 0);
  CHECK(wrong == 0);
  CHECK(confused < 20);
}

TEST_CASE("an increment is the next stamp of the same tag, and the first one after the last") {
  for (const u32 bits : {8u, 16u, 32u, 64u}) {
    CAPTURE(bits);
    const u64 last = (u64{1} << bits / 2) - 1;
    CHECK(incremented(value_of(u64{7}, 0, bits), bits) == value_of(u64{7}, 1, bits));
    CHECK(incremented(value_of(u64{7}, last, bits), bits) == value_of(u64{7}, 0, bits));
  }
  CHECK(incremented(0, 0) == 0);  // of an empty value
}

TEST_CASE("a byte-string key and its prefix have different tags") {
  const std::string_view key("na\xc3\xafve\0x", 8);
  const u64 value = value_of(key, 5);
  CHECK(tag_matches(key, value));
  CHECK(static_cast<u32>(value) == 5);
  CHECK_FALSE(tag_matches(key.substr(0, 7), value));
  CHECK_FALSE(tag_matches(std::string_view(), value));
}

TEST_CASE("numbers of any pattern have different tags") {
  for (const u64 stride : {u64{1}, u64{1} << 20, u64{1} << 32, (u64{1} << 32) + 1, ~u64{0}}) {
    std::set<u32> tags;
    for (u64 n = 0; n < 10'000; ++n) tags.insert(tag_of(n * stride));
    INFO("stride " << stride);
    CHECK(tags.size() >= 9'998);  // two of these random tags of 32 bits are equal once in a hundred such sets
  }
}

TEST_CASE("sums of tags differ where sums of keys are equal") {
  for (const u64 stride : {u64{1}, u64{1} << 20, u64{1} << 32, (u64{1} << 32) + 1}) {
    u64 same = 0;
    for (u64 n = 0; n < 10'000; ++n) {
      const auto tag = [&](u64 at) { return u64{tag_of((n + at) * stride)}; };
      same += tag(0) + tag(3) == tag(1) + tag(2);
    }
    INFO("stride " << stride);
    CHECK(same <= 2);
  }
}

TEST_CASE("tags of equally spaced keys are distributed like random numbers") {
  constexpr u64 kPlaces = 60'000;
  const double expected = kPlaces * (1 - std::exp(-1.)),
               deviation = std::sqrt(kPlaces * (std::exp(-1.) - 2 * std::exp(-2.)));
  for (const u64 stride :
       {u64{1}, u64{64}, u64{1} << 20, u64{1} << 32, (u64{1} << 32) + 1, (u64{1} << 32) - 1, ~u64{0}}) {
    std::set<u64> reached;
    for (u64 n = 0; n < kPlaces; ++n) reached.insert(bounded(u64{tag_of(n * stride)} << 32, kPlaces));
    INFO("stride " << stride);
    CHECK(std::abs(static_cast<double>(reached.size()) - expected) < 4 * deviation);
  }
}

TEST_CASE("memory of zeroes is not a value of the key 0") { CHECK_FALSE(tag_matches(u64{0}, 0)); }

}  // namespace
}  // namespace latchlab
