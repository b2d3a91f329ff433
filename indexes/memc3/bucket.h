#pragma once
// The buckets of `memc3`: four slots, each a tag and the address of a pair.
//
//     coarse and striped  | slot 0 | slot 1 | slot 2 | slot 3 |                        half a line
//     olc and hybrid      | latch | slot 0 | slot 1 | slot 2 | slot 3 | - | - | - |    one line
//
//     slot                | tag : 8 | bits : 8 | address of the pair : 48 |
//
// A slot is one word, so that even a reader without validation sees the address of a pair. The first slot is the
// bucket's word, too: it alone has the number of hash bits for which the bucket is responsible. A free slot has no tag
// and no address.
#include "indexes/growing/two_hashes.h"
#include "src/base/types.h"
#include "src/machine/machine.h"

namespace latchlab::memc3 {

using Hashes = growing::TwoHashes;

/// A pair. Its bucket guards it. One store changes the value.
template <class Layout>
struct Pair {
  Pair(u64 of, u64 first) : key(of), value(first) {}
  Hashes hashes() const { return Hashes(mix64(key)); }

  const u64 key;
  typename Layout::template Cell<u64> value;
};

/// The content of a slot.
template <class Pair>
class Slot {
 public:
  Slot() = default;
  explicit Slot(u64 word) : word_(word) {}
  /// Makes a slot without bits. The tag is 1 to 255.
  Slot(u64 tag, const Pair* pair) : word_(tag << kTagShift | reinterpret_cast<u64>(pair)) {}

  u64 word() const { return word_; }
  bool empty() const { return tag() == 0; }
  /// Returns the tag, or 0 if the slot is free.
  [[gnu::always_inline]] u64 tag() const { return word_ >> kTagShift; }
  u32 bits() const { return static_cast<u32>(word_ >> kBitsShift) & 0xff; }
  [[gnu::always_inline]] Pair* pair() const { return reinterpret_cast<Pair*>(word_ & ((u64{1} << kBitsShift) - 1)); }
  Slot with_bits(u32 bits) const { return Slot((word_ & ~(u64{0xff} << kBitsShift)) | u64{bits} << kBitsShift); }

 private:
  static constexpr u32 kTagShift = 56, kBitsShift = 48;  // Linux gives a program addresses of at most 47 bits

  u64 word_ = 0;
};

/// The word of a home as a walk sees it (indexes/growing/home_walk.h): it has no tags, so its strays may have any.
class Home {
 public:
  static constexpr u32 kTags = 0;
  Home() = default;
  explicit Home(u32 bits) : bits_(bits) {}
  u32 bits() const { return bits_; }
  static constexpr bool many() { return true; }
  static constexpr bool has_tags() { return false; }
  static constexpr u64 tag(u32) { return 0; }

 private:
  u32 bits_ = 0;
};

template <class Layout>
struct alignas(32) Bucket {
  using Pair = memc3::Pair<Layout>;
  using Slot = memc3::Slot<Pair>;
  static constexpr u32 kSlots = 4;

  Bucket() = default;
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  u8 tag() const { return 0; }
  static u32 bits_of(u64 word) { return Slot(word).bits(); }
  void begin(u32 bits, u64) { word.store(Slot().with_bits(bits).word()); }

  [[gnu::always_inline]] Slot slot(u32 i) const { return Slot(i == 0 ? word.load() : more[i - 1].load()); }
  /// Returns a free slot, or kSlots.
  u32 free_slot() const {
    u32 i = 0;
    while (i < kSlots && !slot(i).empty()) ++i;
    return i;
  }
  /// Gives slot i this content, apart from the bits.
  void set(u32 i, Slot content) {
    if (i == 0) {
      word.store(content.with_bits(bits_of(word.load())).word());
    } else {
      more[i - 1].store(content.with_bits(0).word());
    }
  }
  /// Moves half of the pairs to an unborn bucket, whose number has one bit more than `number`, the number of this one.
  /// The new bucket's word is stored when the rest of it is complete, and before the pairs leave this bucket.
  void split_to(Bucket& born, u64 number) {
    const u32 bits = bits_of(word.load());
    Slot stays[kSlots], goes[kSlots];
    for (u32 i = 0; i < kSlots; ++i) {
      const Slot content = slot(i);
      if (content.empty()) continue;
      const u64 hash = growing::hash_here(content.pair()->hashes(), number, bits);
      ((hash >> bits & 1) != 0 ? goes : stays)[i] = content;
    }
    for (u32 i = kSlots; i-- > 1;) born.more[i - 1].store(goes[i].word());
    born.word.store(goes[0].with_bits(bits + 1).word());
    for (u32 i = kSlots; i-- > 1;) more[i - 1].store(stays[i].word());
    word.store(stays[0].with_bits(bits + 1).word());
  }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;  // slot 0
  typename Layout::template Cell<u64> more[kSlots - 1];
};

}  // namespace latchlab::memc3
