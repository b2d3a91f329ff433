// Tests of the packing of a line of kvdirect, for pairs of any size.
#include "indexes/kvdirect/image.h"

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/rng.h"
#include "src/testing/catch.h"

namespace latchlab::testing {
namespace {

using kvdirect::Entry;
using kvdirect::Image;
using kvdirect::kSlots;

using ByteString = std::vector<u8>;

/// An entry as a model of a line has it: an inline pair, or a pointer without a key.
struct Packed {
  ByteString key, value;
  u32 tag = 0, address = 0, record_class = 0;

  u32 slots() const { return key.empty() ? 1 : kvdirect::slots_for(static_cast<u32>(key.size() + value.size())); }
  bool operator==(const Packed&) const = default;
};

ByteString random_bytes(Rng& rng, u64 count) {
  ByteString bytes(count);
  for (u8& byte : bytes) byte = static_cast<u8>(rng.below(4) == 0 ? 0xff : rng());
  return bytes;
}
Packed random_pair(Rng& rng, u32 bytes) {
  const u64 key = 1 + rng.below(bytes - 1);
  return {.key = random_bytes(rng, key), .value = random_bytes(rng, bytes - key)};
}
Packed random_pointer(Rng& rng) {
  return {.key = {},
          .value = {},
          .tag = static_cast<u32>(rng.below(512)),
          .address = static_cast<u32>(rng.below(u64{1} << 31)),
          .record_class = static_cast<u32>(rng.below(8))};
}

void append(Image& image, const Packed& entry) {
  if (entry.key.empty()) {
    image.append_pointer(entry.tag, entry.address, entry.record_class);
  } else {
    image.append_inline(entry.key, entry.value);
  }
}
ByteString bytes_of(const Image& image, u32 at, u32 count) {
  ByteString bytes;
  for (u32 i = 0; i < count; ++i) bytes.push_back(static_cast<u8>(image.number(at + i, 1)));
  return bytes;
}
std::vector<Packed> entries_of(const Image& image) {
  std::vector<Packed> all;
  image.for_each([&](const Entry& entry) {
    if (entry.is_pointer()) {
      all.push_back({.key = {},
                     .value = {},
                     .tag = image.tag_at(entry.slot),
                     .address = image.address_at(entry.slot),
                     .record_class = image.class_at(entry.slot)});
    } else {
      all.push_back(
          {.key = bytes_of(image, entry.key_at(), entry.key), .value = bytes_of(image, entry.value_at(), entry.value)});
    }
  });
  return all;
}
u32 slots_of(const std::vector<Packed>& entries) {
  u32 slots = 0;
  for (const Packed& entry : entries) slots += entry.slots();
  return slots;
}
/// Returns the entry of number `nth`.
Entry entry_number(const Image& image, std::size_t nth) {
  Entry entry = image.entry_at(0);
  while (nth-- != 0) entry = image.entry_at(entry.end());
  return entry;
}

TEST_CASE("kvdirect: a pair of 2 to 50 bytes takes the slots of its bytes, wherever its key ends", "[no-tsan]") {
  Rng rng(test_seed());
  for (u32 bytes = 2; bytes <= kvdirect::kDataBytes; ++bytes) {
    for (u32 key = 1; key < bytes; ++key) {
      Image image;
      image.set_chain(0xfedcba98);
      const ByteString name = random_bytes(rng, key), value = random_bytes(rng, bytes - key);
      image.append_inline(name, value);
      const u32 slots = (bytes + 4) / 5;
      const Entry entry = image.find_inline(name);
      REQUIRE(entry.slots == slots);
      CHECK(entry.key == key);
      CHECK(entry.value == bytes - key);
      CHECK(bytes_of(image, entry.value_at(), entry.value) == value);
      CHECK(image.used() == slots);
      CHECK(image.entry_at(slots).slots == 0);
      CHECK(image.has_room_for(kSlots - slots));
      CHECK_FALSE(image.has_room_for(kSlots - slots + 1));
      CHECK(image.chain() == 0xfedcba98);
      image.erase(entry);
      CHECK(image.empty());
      CHECK(image.words() == Image::Words{0, 0, 0, 0, 0, 0, 0, u64{0xfedcba98} << 32});
    }
  }
}

TEST_CASE("kvdirect: a line holds pairs and pointers in any order, and closes up behind what is erased", "[no-tsan]") {
  Rng rng(test_seed());
  for (u32 round = 0; round < 2000; ++round) {
    Image image;
    std::vector<Packed> model;
    const u32 chain = static_cast<u32>(rng());
    image.set_chain(chain);
    for (u32 step = 0; step < 40; ++step) {
      const Packed next =
          rng.below(3) == 0 ? random_pointer(rng) : random_pair(rng, 2 + static_cast<u32>(rng.below(30)));
      REQUIRE(image.used() == slots_of(model));
      if (rng.below(3) != 0 && image.has_room_for(next.slots())) {
        append(image, next);
        model.push_back(next);
      } else if (!model.empty()) {
        const std::size_t gone = rng.below(model.size());
        image.erase(entry_number(image, gone));
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(gone));
      }
      REQUIRE(entries_of(image) == model);
      REQUIRE(image.chain() == chain);
    }
  }
}

/// Checks a line of pairs of one size, for any number of them.
template <u32 kKey, u32 kValue>
void check_alike(Rng& rng) {
  constexpr u32 kMost = kSlots / kvdirect::slots_for(kKey + kValue);
  for (u32 round = 0; round < 1000; ++round) {
    std::vector<u64> keys, values;
    Image image;
    image.set_chain(static_cast<u32>(rng()));
    for (u64 pairs = rng.below(kMost + 1); pairs != 0; --pairs) {
      keys.push_back(rng.below(4) == 0 ? pairs - 1 : rng() >> (64 - 8 * kKey));
      values.push_back(rng());
      image.append_inline(keys.back(), kKey, values.back(), kValue);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Entry entry = image.find_alike<kKey, kValue>(keys[i]);
      REQUIRE(entry.slots == kvdirect::slots_for(kKey + kValue));
      const std::size_t first = static_cast<std::size_t>(std::ranges::find(keys, keys[i]) - keys.begin());
      CHECK(entry.slot == first * entry.slots);
      CHECK(image.number(entry.value_at(), kValue) == values[first]);
    }
    // Free slots are zeros, and so is this key.
    if (std::ranges::find(keys, u64{0}) == keys.end()) CHECK((image.find_alike<kKey, kValue>(0).slots) == 0);
  }
}

TEST_CASE("kvdirect: a key is found in a line of pairs of one size, and no free slot is one", "[no-tsan]") {
  Rng rng(test_seed());
  check_alike<7, 8>(rng);
  check_alike<8, 8>(rng);
}

TEST_CASE("kvdirect: the secondary hash has nine bits, and bytes of pairs never look like one", "[no-tsan]") {
  Rng rng(test_seed());
  for (u32 tag = 0; tag < 512; ++tag) {
    Image image;
    // Each byte of this pair equals the upper eight bits of the hash.
    const ByteString alike(6, static_cast<u8>(tag >> 1));
    image.append_inline(alike, ByteString(4, static_cast<u8>(tag >> 1)));
    u32 expected = 0;
    for (u32 slot = 2; slot < kSlots; ++slot) {
      const u32 other = slot % 2 == 0 ? tag : slot % 3 == 0 ? tag ^ 1 : static_cast<u32>(rng.below(512));
      image.append_pointer(other, static_cast<u32>(rng.below(u64{1} << 31)), slot % 8);
      if (other == tag) expected |= 1u << slot;
    }
    CHECK(image.pointers_with(tag) == expected);
  }
}

TEST_CASE("kvdirect: a line of any bits is read inside its bounds", "[no-tsan]") {
  Rng rng(test_seed());
  for (u32 round = 0; round < 20'000; ++round) {
    Image::Words words;
    for (u64& word : words) word = rng.below(3) == 0 ? ~u64{0} : rng.below(3) == 0 ? 0 : rng();
    const Image image(words);
    u32 slots = 0, entries = 0;
    image.for_each([&](const Entry& entry) {
      REQUIRE(entry.slot == slots);
      slots += entry.slots, ++entries;
      REQUIRE(entry.value_at() + entry.value <= kvdirect::kDataBytes);
    });
    CHECK(slots <= kSlots);
    CHECK(entries <= kSlots);
    (void)image.find_alike<7, 8>(rng());
    (void)image.find_inline(random_bytes(rng, 1 + rng.below(50)));
    CHECK(image.pointers_with(static_cast<u32>(rng.below(512))) < 1u << kSlots);
  }
}

}  // namespace
}  // namespace latchlab::testing
