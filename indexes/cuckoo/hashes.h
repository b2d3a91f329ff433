#pragma once
// What the home bucket of a key knows of its strays.
//
// A key has a home and another bucket (indexes/growing/two_hashes.h). A key in its other bucket is a stray. The word of
// its home has its tag, so most misses read one bucket, a stray can be found without its key, and the split of its home
// brings it back.
//
//     word    | the latch's | tags : 8 each | the bucket's | many : 1 | bits : 6 | the latch's : 2 |
//
// The latch's bits are those of WordLatch (sync/version_latch.h). A bucket with more strays than tags has `many`, for
// ever: then every miss reads the other bucket.
#include "indexes/growing/two_hashes.h"

namespace latchlab::cuckoo {

using Hashes = growing::TwoHashes;
using growing::answers;
using growing::hash_here;

/// The word of a bucket with kOwn bits of its own.
template <u32 kOwn>
class Word {
 public:
  static constexpr u32 kOwnShift = 9;
  static constexpr u32 kTags = (32 - kOwn) / 8;

  constexpr Word() = default;
  explicit constexpr Word(u64 word) : word_(word) {}
  /// Returns the word of a bucket without strays, whose own bits are 0.
  static constexpr Word first(u32 bits) { return Word(u64{bits} << kBitsShift); }

  constexpr u64 word() const { return word_; }
  /// Returns the number of hash bits for which the bucket is responsible; 0 while it is unborn.
  constexpr u32 bits() const { return static_cast<u32>(word_ >> kBitsShift) & 63; }
  /// Returns true if the bucket has lost track of its strays.
  constexpr bool many() const { return (word_ & kMany) != 0; }
  /// Returns true if a key with this tag and this home may be in its other bucket.
  [[gnu::always_inline]] constexpr bool may_stray(u64 tag) const { return many() || has(tag); }

  /// Returns true if the bucket is unlocked, has these bits, and has not lost track of its strays: the usual bucket.
  [[gnu::always_inline]] constexpr bool is_usual(u32 bits) const {
    return (word_ & kUsualMask) == u64{bits} << kBitsShift;
  }
  /// Returns true if, besides, it has no strays.
  [[gnu::always_inline]] constexpr bool is_plain(u32 bits) const {
    return (word_ & (kUsualMask | u64{kAllTags} << kTagShift)) == u64{bits} << kBitsShift;
  }
  [[gnu::always_inline]] constexpr bool has_tag(u64 tag) const { return has(tag); }

  /// Returns the word with one more stray.
  constexpr Word with(u64 tag) const {
    for (u32 i = 0; i < kTags; ++i) {
      if (this->tag(i) == 0) return Word(word_ | tag << shift(i));
    }
    return Word(word_ | kMany);
  }
  /// Returns the word with one stray less. A word with `many` keeps its tags, since it does not know whose they are.
  constexpr Word without(u64 tag) const {
    for (u32 i = 0; i < kTags && !many(); ++i) {
      if (this->tag(i) == tag) return Word(word_ & ~(u64{0xff} << shift(i)));
    }
    return *this;
  }
  /// Returns tag i, or 0.
  constexpr u64 tag(u32 i) const { return word_ >> shift(i) & 0xff; }
  constexpr bool has_tags() const { return (tags() & kAllTags) != 0; }
  /// Returns the word with one more hash bit, without tags, and with own bits 0.
  constexpr Word after_split() const { return Word((word_ & kMany) | u64{bits() + 1} << kBitsShift); }

  /// Returns the word with some of the bucket's own bits flipped.
  constexpr Word flipped(u64 own) const { return Word(word_ ^ own << kOwnShift); }

 private:
  static constexpr u32 kBitsShift = 2, kTagShift = kOwnShift + kOwn;
  static constexpr u64 kMany = u64{1} << 8, kUsualMask = 2 * kMany - 1;
  static constexpr u32 kAllTags = static_cast<u32>((u64{1} << 8 * kTags) - 1);
  static constexpr u32 shift(u32 i) { return kTagShift + 8 * i; }
  constexpr u32 tags() const { return static_cast<u32>(word_ >> kTagShift); }
  /// Looks for the tag in all bytes at once.
  constexpr bool has(u64 tag) const {
    const u32 x = tags() ^ static_cast<u32>(tag) * 0x01010101u;
    return ((x - 0x01010101u) & ~x & 0x80808080u & kAllTags) != 0;
  }

  u64 word_ = 0;
};

/// The result of a search for a pair in its home.
struct Look {
  u32 at_home;  // bits of the slots that hold the pair at home
  u32 alike;    // bits of the slots that look like it, these included
  u64 value;    // of the lowest slot in `alike`
};

}  // namespace latchlab::cuckoo
