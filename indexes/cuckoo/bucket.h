#pragma once
// A bucket of a cuckoo table: two lines, seven pairs.
//
//     | latch | key 0 ... key 6 |      the line that a search reads; without a latch it begins with key 0
//     | value 0 ... value 6 | word |   the line that a hit reads too
//
//     word    | bits : 8 | older marks : 24 | marks : 32 |   bits: number of hash bits, see indexes/growing/buckets.h
//
// Any u64 is a legal key. A slot is free if it holds a key that cannot be in this bucket. Both hashes of kOdd are odd,
// so kOdd is in no bucket with an even number; kEven is in none with an odd number. A split only adds a higher bit to
// the number, since the lowest bit is there from the beginning. So a key that cannot be in a bucket cannot be in its
// descendants either. Hence a search compares keys and nothing else.
//
// A stray is a key in its secondary bucket. Its primary bucket has a mark for it. So most misses read one bucket. Keys
// may share a mark, so no mark is cleared when its key leaves. But a split turns all marks into older marks. A thread
// that settles a bucket marks again the strays that it must leave. When the table reports that all buckets have been
// settled, the older marks are ignored. If many keys come and go before the next doubling, more and more misses read
// two buckets.
#include <new>

#include "indexes/growing/buckets.h"
#include "src/arch/simd.h"
#include "src/base/hash.h"

namespace latchlab::cuckoo {

/// The two hashes of a key, and its mark in its primary bucket. The hashes are independent halves of a bijection, so no
/// two keys share both.
class Hashes {
 public:
  explicit constexpr Hashes(u64 key) : all_(mix64(key)) {}
  constexpr u64 all() const { return all_; }
  constexpr u64 primary() const { return all_ & ~u32{0}; }
  constexpr u64 secondary() const { return all_ >> 32; }
  /// Returns the key's mark in the word of its primary bucket. The upper bits of the secondary hash choose it.
  constexpr u64 mark() const { return u64{1} << mark_number(); }
  /// Returns true if the key may be in its secondary bucket, by the word of its primary one. `settled()` returns true
  /// if the table has settled the buckets with the bits of that word. It is called only for a key without a mark, to
  /// save its load.
  template <class Settled>
  [[gnu::always_inline]] constexpr bool may_stray(u64 word, const Settled& settled) const {
    return (word & mark()) != 0 || (!settled() && (word & older(mark_number())) != 0);
  }
  /// Returns the word of both buckets that a split makes of one. It has one bit more, and each mark becomes an older
  /// mark in both. Older marks stay too, unless `settled` says that they are void.
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
  /// Returns the older mark for mark `number`. The word has room for 24 older marks only, so some of the 32 marks share
  /// one.
  static constexpr u64 older(u64 number) { return u64{1} << (kMarks + number * 3 / 4); }

  u64 all_;
};

/// Returns the least key with this lowest bit in both hashes.
constexpr u64 least_key(u64 bit) {
  for (u64 key = 0;; ++key) {
    const Hashes hashes(key);
    if ((hashes.primary() & 1) == bit && (hashes.secondary() & 1) == bit) return key;
  }
}
inline constexpr u64 kEven = least_key(0), kOdd = least_key(1);

/// Returns the key that marks a free slot in bucket b.
constexpr u64 free_key(u64 b) { return (b & 1) != 0 ? kEven : kOdd; }

inline constexpr u32 kSlots = 7;  // number of slots in a bucket

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

  /// Returns the slot of a key, or kSlots; the lowest slot if several hold it, as free ones do.
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
