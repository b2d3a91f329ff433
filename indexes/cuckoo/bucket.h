#pragma once
// The buckets of a cuckoo table: a word (hashes.h) and some pairs.
//
//     PairsBucket, 3   | word | - | key 0 ... 2 | value 0 ... 2 |                              one line
//     PairsBucket, 7   | word | key 0 ... 6 |   | value 0 ... 6 | - |                          two; a miss reads the
//     first FourBucket       | word | hash bits 48..63 of 4 | bits 16..47 of 4 | value 0 ... 3 |     one line (four.h)
//
// A table names a pair by its id: Id(key), and back, key(). Only a bucket that is responsible for a key tells its id
// from others, and only if its number has at least Id::kImplicit bits. In these functions `word` is the bucket's word,
// `number` its number, and `stray` says whether the pair is, or would be, in its other bucket.
//
//     slots(bits)                                number of slots of a bucket with so many bits
//     slot_of(number, id, word, stray)           the slot of a pair, or kSlots
//     free_slot(word)                            a free slot, or kSlots
//     id_at(slot, number, word)                  the id in a slot, or nothing if it is free
//     put(slot, number, id, value, stray, word)  fills a slot; returns the word that the bucket must get
//     clear(slot, word)                          empties a slot; returns the word, likewise
//     split_to(born, number, word)               moves half of the pairs to an unborn bucket, whose number has one bit
//                                                more; returns the words of both, without tags
//
// These are the same for pairs at home in a bucket with at least Id::kImplicit bits, in fewer instructions:
//
//     find_at_home(number, id, word, avx512)     whether a pair is there, and its value
//     slot_at_home(number, id, word)             the slot of a pair, or kSlots
//     room(word)                                 a free slot; false if there is none
//     fill(room, number, id, value, word)        fills that slot; returns the word that the bucket must get
#include <optional>
#include <utility>

#include "indexes/cuckoo/hashes.h"
#include "src/arch/line_search.h"
#include "src/machine/machine.h"

namespace latchlab::cuckoo {

/// A key as buckets of pairs store it.
class KeyId {
 public:
  static constexpr u32 kImplicit = 0;  ///< number of hash bits that are not stored

  KeyId() = default;
  explicit constexpr KeyId(u64 key) : key_(key) {}
  constexpr u64 key() const { return key_; }
  constexpr Hashes hashes() const { return Hashes(mix64(key_)); }


 private:
  u64 key_;
};

/// Returns the least key with this lowest bit in both hashes.
constexpr u64 least_key(u64 bit) {
  for (u64 key = 0;; ++key) {
    const Hashes hashes = KeyId(key).hashes();
    if ((hashes.home() & 1) == bit && (hashes.other() & 1) == bit) return key;
  }
}
inline constexpr u64 kEven = least_key(0), kOdd = least_key(1);

/// Returns a key that cannot be in bucket b, nor in its descendants. Both hashes of kOdd are odd, so kOdd is in no
/// bucket with an even number; kEven is in none with an odd number. A split only adds a higher bit to the number, since
/// the lowest bit is there from the beginning.
constexpr u64 impossible_key(u64 b) { return (b & 1) != 0 ? kEven : kOdd; }

/// A bucket with kPairs pairs of any keys. A slot has the key xor a key that cannot be in this bucket. So zero is a
/// free slot, any u64 is a legal key, and a search compares keys and nothing else.
template <class Layout, u32 kPairs>
struct alignas(kLineBytes) PairsBucket {
  static_assert(kPairs == 3 || kPairs == 7);
  using Cell = typename Layout::template Cell<u64>;
  using Id = KeyId;
  using Word = cuckoo::Word<0>;
  static constexpr u32 kSlots = kPairs;
  static constexpr bool kWordHasSlots = false;  // put and clear return the word as it was

  PairsBucket() = default;
  PairsBucket(const PairsBucket&) = delete;
  PairsBucket& operator=(const PairsBucket&) = delete;
  u8 tag() const { return 0; }
  static u32 bits_of(u64 of) { return Word(of).bits(); }
  static u64 slots(u32) { return kSlots; }
  void begin(u32 bits, u64) { word.begin_with(Word::first(bits).word()); }

  [[gnu::always_inline]] Look find_at_home(u64 number, Id id, Word, bool) const {
    const u32 slot = slot_of(stored(number, id));
    const u32 found = slot != kSlots ? 1 : 0;
    return {.at_home = found, .alike = found, .value = value[slot % kSlots].load()};
  }
  [[gnu::always_inline]] u64 slot_at_home(u64 number, Id id, Word) const { return slot_of(stored(number, id)); }
  struct Room {
    u32 slot;
    explicit operator bool() const { return slot != kSlots; }
  };
  [[gnu::always_inline]] Room room(Word) const { return {slot_of(0)}; }
  [[gnu::always_inline]] Word fill(Room room, u64 number, Id id, u64 new_value, Word of) {
    return put(room.slot, number, id, new_value, false, of);
  }
  [[gnu::always_inline]] u32 slot_of(u64 number, Id id, Word, bool) const { return slot_of(stored(number, id)); }
  [[gnu::always_inline]] u32 free_slot(Word) const { return slot_of(0); }
  std::optional<Id> id_at(u32 slot, u64 number, Word) const {
    const u64 word_of_key = key[slot].load();
    return word_of_key == 0 ? std::nullopt : std::optional(Id(word_of_key ^ impossible_key(number)));
  }
  Word put(u32 slot, u64 number, Id id, u64 new_value, bool, Word of) {
    value[slot].store(new_value);
    key[slot].store(stored(number, id));
    return of;
  }
  Word clear(u32 slot, Word of) {
    key[slot].store(0);
    return of;
  }
  std::pair<Word, Word> split_to(PairsBucket& born, u64 number, Word of) {
    const u32 bits = of.bits();
    for (u32 slot = 0, to = 0; slot < kSlots; ++slot) {
      const auto id = id_at(slot, number, of);
      if (!id || (hash_here(id->hashes(), number, bits) >> bits & 1) == 0) continue;
      born.put(to++, number, *id, value[slot].load(), false, of);
      clear(slot, of);
    }
    return {of.after_split(), of.after_split()};
  }

  typename Layout::Word word;
  alignas(kPairs == 3 ? 16 : 8) Cell key[kSlots];
  Cell value[kSlots];

 private:
  static u64 stored(u64 number, Id id) { return id.key() ^ impossible_key(number); }
  /// Returns the lowest slot with this word, or kSlots.
  [[gnu::always_inline]] u32 slot_of(u64 wanted) const {
    if constexpr (Layout::Machine::kReadsWholeLines) {
      Layout::Machine::touch(this, kLineBytes, Access::kRead);
      if constexpr (kPairs == 3) {
        return first_equal_of_three(this, wanted);
      } else {
        return first_equal_of_seven(&key[0], wanted);
      }
    }
    u32 slot = 0;
    while (slot < kSlots && key[slot].load() != wanted) ++slot;
    return slot;
  }
};

}  // namespace latchlab::cuckoo
