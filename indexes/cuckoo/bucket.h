#pragma once
// A bucket of a cuckoo table: two lines, seven pairs.
//
//     | latch | key 0 ... key 6 |      the line that a search reads; without a latch it begins with key 0
//     | value 0 ... value 6 | word |   and the one that a hit reads
//
//     word    | bits : 8 | older marks : 24 | marks : 32 |   hash bits it answers for, see indexes/growing/buckets.h
//
// Any u64 is a key. A slot is free if it holds the key that cannot be in this bucket: both hashes of kOdd are odd, so
// it is in no bucket with an even number, and kEven is in no other. A split gives a bucket's number a higher bit (the
// lowest is there from the beginning), so what cannot be in it can be in none of its descendants. So a search compares
// keys and nothing else.
//
// A mark is set for a key whose primary bucket this is and that is in its secondary one (a stray): most misses read one
// bucket. Keys may share a mark, so none is cleared when its key goes. But a split makes all marks older ones, and who
// settles a bucket marks again what strays he has to leave: when the table says that all have been settled, the older
// marks say nothing any more. Until the next doubling, where many keys come and go, misses come to read two.
#include <new>

#include "indexes/growing/buckets.h"
#include "src/arch/simd.h"
#include "src/base/hash.h"

namespace latchlab::cuckoo {

/// The two hashes of a key, and its mark in its primary bucket. Independent halves of a bijection: no two keys
/// share both.
class Hashes {
 public:
  explicit constexpr Hashes(u64 key) : all_(mix64(key)) {}
  constexpr u64 all() const { return all_; }
  constexpr u64 primary() const { return all_ & ~u32{0}; }
  constexpr u64 secondary() const { return all_ >> 32; }
  /// In the word of the primary bucket, by the upper bits of the secondary hash.
  constexpr u64 mark() const { return u64{1} << mark_number(); }
  /// Whether the key may be in its secondary bucket, by the word of its primary one. `settled()`: whether the table is,
  /// at the bits of it; called, so that who has a mark does not load it.
  template <class Settled>
  [[gnu::always_inline]] constexpr bool may_stray(u64 word, const Settled& settled) const {
    return (word & mark()) != 0 || (!settled() && (word & older(mark_number())) != 0);
  }
  /// The word of both buckets that a split makes of one: a bit more, and who is elsewhere is so for either.
  static constexpr u64 after_split(u64 word, bool settled) {
    u64 marks = settled ? 0 : word & kOlder;
    for (u64 number = 0; number < kMarks; ++number) {
      if ((word >> number & 1) != 0) marks |= older(number);
    }
    return (u64{growing::bits_of(word)} + 1) << growing::kWordShift | marks;
  }

 private:
  static constexpr u64 kMarks = 32;
  static constexpr u64 kOlder = ((u64{1} << growing::kWordShift) - 1) >> kMarks << kMarks;
  constexpr u64 mark_number() const { return all_ >> 59; }
  /// The older mark that stands for mark `number`: 24 for 32, since the word has no more bits.
  static constexpr u64 older(u64 number) { return u64{1} << (kMarks + number * 3 / 4); }

  u64 all_;
};

/// The least key of which both hashes have this lowest bit.
constexpr u64 least_key(u64 bit) {
  for (u64 key = 0;; ++key) {
    const Hashes hashes(key);
    if ((hashes.primary() & 1) == bit && (hashes.secondary() & 1) == bit) return key;
  }
}
inline constexpr u64 kEven = least_key(0), kOdd = least_key(1);

/// What a free slot of bucket b holds.
constexpr u64 free_key(u64 b) { return (b & 1) != 0 ? kEven : kOdd; }

inline constexpr u32 kSlots = 7;  // of a bucket

template <class Layout>
struct alignas(kLineBytes) Bucket {
  using Cell = typename Layout::template Cell<u64>;
  static constexpr u32 kSlots = cuckoo::kSlots;

  explicit Bucket(u64 number) {
    for (u32 i = 0; i < kSlots; ++i) new (&key[i]) Cell(free_key(number));
  }
  Bucket(const Bucket&) = delete;
  Bucket& operator=(const Bucket&) = delete;
  u8 tag() const { return 0; }

  /// The slot of a key, or kSlots. Two that are equal (free ones): the lower.
  [[gnu::always_inline]] u32 slot_of(u64 wanted) const {
    if constexpr (Layout::Machine::kReadsWholeLines) return first_equal_of_seven(&key[0], wanted);
    u32 slot = 0;
    while (slot < kSlots && key[slot].load() != wanted) ++slot;
    return slot;
  }
  void put(u32 slot, u64 new_key, u64 new_value) {
    value[slot].store(new_value);
    key[slot].store(new_key);
  }

  [[no_unique_address]] typename Layout::Latch latch;
  Cell key[kSlots];
  Cell value[kSlots];
  Cell word;
};

}  // namespace latchlab::cuckoo
