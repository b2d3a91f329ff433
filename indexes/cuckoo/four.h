#pragma once
// A bucket of four pairs in one line.
//
//     | word | hash bits 48..63 of 4 | hash bits 16..47 of 4 | value 0 ... 3 |
//
// The hash is a bijection, so it names the key. Where there are at least 2^16 buckets, the number of a key's home gives
// the 16 bits that are not stored. The bucket's own bits in the word say which slots are free, and which hold a pair at
// home. The number of a stray's home follows from that of its bucket and from its tag, which is in the stored bits.
//
// A smaller bucket (one with fewer than 16 bits) has three slots. It keeps the 16 bits of each in the value of the
// fourth, which stays free.
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>
#include <utility>

#include "indexes/cuckoo/hashes.h"
#include "src/arch/line_search.h"
#include "src/base/scale.h"
#include "src/machine/machine.h"

namespace latchlab::cuckoo {

/// A key as a bucket of four names it: its hash.
template <Scale kScale>
class HashId {
 public:
  /// Number of hash bits that a bucket with as many does not store. The bits of mid go on where they end.
  static constexpr u32 kImplicit = 16;

  HashId() = default;
  explicit constexpr HashId(u64 key) : hash_(mix64(key)) {}
  /// Makes the id of which bits 16..63 are stored, in or for the bucket with this number.
  static constexpr HashId stored(u64 upper, u64 number) {
    HashId id;
    id.hash_ = upper | (number & 0xffff);
    return id;
  }
  constexpr u64 key() const { return unmix64(hash_); }
  constexpr Hashes hashes() const { return Hashes(hash_); }

 private:
  u64 hash_;
};

/// The same for tables of a few buckets and keys below 2^32, so that programs of a few operations see buckets that do
/// not store all bits: bits 2..15 follow from the stored ones.
template <>
class HashId<Scale::kTiny> {
 public:
  static constexpr u32 kImplicit = 2;

  HashId() = default;
  explicit constexpr HashId(u64 key) {
    const u64 mixed = mix32(static_cast<u32>(key));
    hash_ = stored((mixed >> 2) << 16 | mixed >> 24 << 56, mixed).hash_;
    if (key >> 32 != 0) std::abort();
  }
  static constexpr HashId stored(u64 upper, u64 number) {
    HashId id;
    id.hash_ = upper | (upper >> 16 & 0x3fff) << 2 | (number & 3);
    return id;
  }
  constexpr u64 key() const { return unmix32(static_cast<u32>((hash_ >> 16) << 2 | (hash_ & 3))); }
  constexpr Hashes hashes() const { return Hashes(hash_); }

 private:
  u64 hash_;
};

template <class Layout>
struct alignas(kLineBytes) FourBucket {
  template <class T>
  using Cell = typename Layout::template Cell<T>;
  using Id = HashId<Layout::kScale>;
  using Word = cuckoo::Word<8>;  // own bits: four for free slots, four for pairs at home
  static constexpr u32 kSlots = 4;
  static constexpr bool kWordHasSlots = true;

  FourBucket() = default;
  FourBucket(const FourBucket&) = delete;
  FourBucket& operator=(const FourBucket&) = delete;
  u8 tag() const { return 0; }
  static u32 bits_of(u64 of) { return Word(of).bits(); }
  static u64 slots(u32 bits) { return bits < Id::kImplicit ? kSlots - 1 : kSlots; }
  void begin(u32 bits, u64) { word.begin_with(Word::first(bits).flipped(kAll).word()); }

  /// Looks for a pair at home in a large bucket. The answer is unsure if a slot that holds no pair at home looks like
  /// it, as where a pair came back to another slot.
  [[gnu::always_inline]] Look find_at_home(u64, Id id, Word of, bool avx512) const {
    if constexpr (Layout::Machine::kReadsWholeLines) {
      if (avx512) [[likely]] {
        Layout::Machine::touch(this, kLineBytes, Access::kRead);
        const HashMatch match = match_hashes_of_four(this, id.hashes().home());
        const u32 at_home = match.slots & static_cast<u32>(of.word() >> Word::kOwnShift);
        return {.at_home = at_home, .alike = match.slots, .value = match.value};
      }
    }
    const u32 slots = equal(id.hashes().home()) & home_of_large(of);
    return {.at_home = slots, .alike = slots, .value = value[std::countr_zero(slots) % kSlots].load()};
  }
  [[gnu::always_inline]] u32 slot_of(u64, Id id, Word of, bool stray) const {
    const u64 hash = id.hashes().home();
    const u32 found = equal(hash) & (stray ? ~(home(of) | free(of)) : home(of)) & kAll;
    if (is_small(of)) [[unlikely]]
      return slot_of_small(found, hash);
    return static_cast<u32>(std::countr_zero(found | 1u << kSlots));
  }
  /// Returns the slot of a pair at home in a large bucket, or kSlots.
  [[gnu::always_inline]] u64 slot_at_home(u64, Id id, Word of) const {
    const u32 found = equal(id.hashes().home()) & home_of_large(of);
    if (found == 0) return kSlots;
    return static_cast<u64>(std::countr_zero(found));
  }
  /// The lowest free slot of a large bucket: its bit in the word, or 0.
  struct Room {
    u64 bit;
    explicit operator bool() const { return bit != 0; }
  };
  [[gnu::always_inline]] Room room(Word of) const {
    const u64 free = of.word() & u64{kAll} << Word::kOwnShift;
    return {free & -free};
  }
  /// Fills the slot with a pair at home.
  [[gnu::always_inline]] Word fill(Room room, u64, Id id, u64 new_value, Word of) {
    const u64 slot = static_cast<u64>(std::countr_zero(room.bit)) - Word::kOwnShift, hash = id.hashes().home();
    value[slot].store(new_value);
    mid[slot].store(static_cast<u32>(hash >> 16));
    high[slot].store(static_cast<u16>(hash >> 48));
    return Word(of.word() ^ (room.bit | room.bit << 4));
  }
  [[gnu::always_inline]] u32 free_slot(Word of) const {
    return std::countr_zero((is_small(of) ? free(of) & ~8u : free(of)) | 1u << kSlots);
  }
  std::optional<Id> id_at(u32 slot, u64 number, Word of) const {
    if ((free(of) >> slot & 1) != 0) return std::nullopt;
    const u64 upper = u64{high[slot].load()} << 48 | u64{mid[slot].load()} << 16;
    if (is_small(of)) return Id::stored(upper, low_of_small(slot));
    const bool at_home = (home(of) >> slot & 1) != 0;
    return Id::stored(upper, at_home ? number : number ^ Hashes::jump(Hashes(upper).tag()));
  }
  Word put(u32 slot, u64, Id id, u64 new_value, bool stray, Word of) {
    const u64 hash = id.hashes().home();
    value[slot].store(new_value);
    mid[slot].store(static_cast<u32>(hash >> 16));
    high[slot].store(static_cast<u16>(hash >> 48));
    const u32 bit = 1u << slot;
    if (is_small(of)) {
      const u64 old = value[3].load() & ~(u64{0xffff} << 16 * slot | u64{bit} << kHomeOfSmall);
      value[3].store(old | (hash & 0xffff) << 16 * slot | u64{stray ? 0 : bit} << kHomeOfSmall);
      return of.flipped(free(of) & bit);
    }
    const u32 after = stray ? home_of_large(of) & ~bit : home_of_large(of) | bit;
    return of.flipped(u64{free(of) & bit} | u64{home_of_large(of) ^ after} << 4);
  }
  Word clear(u32 slot, Word of) {
    mid[slot].store(0);  // so that searches for the key mostly do not find it alike
    const u32 bit = 1u << slot;
    return of.flipped(u64{~free(of) & bit} | u64{home_of_large(of) & bit} << 4);
  }
  std::pair<Word, Word> split_to(FourBucket& born, u64 number, Word of) {
    if (is_small(of)) [[unlikely]]
      return split_small_to(born, number, of);
    const u32 bits = of.bits(), at_home = home_of_large(of);
    u32 moves = 0;
    for (u32 i = 0; i < kSlots; ++i) moves |= (mid[i].load() >> (bits - Id::kImplicit) & 1) << i;
    moves &= at_home;
    for (u32 strays = ~(at_home | free(of)) & kAll; strays != 0; strays &= strays - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(strays));
      if ((id_at(slot, number, of)->hashes().other() >> bits & 1) != 0) moves |= 1u << slot;
    }
    u32 to = 0, at_home_there = 0;
    for (u32 left = moves; left != 0; left &= left - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(left));
      born.value[to].store(value[slot].load());
      born.mid[to].store(mid[slot].load());
      born.high[to].store(high[slot].load());
      at_home_there |= (at_home >> slot & 1) << to++;
    }
    return {of.after_split().flipped((free(of) | moves) | (at_home & ~moves) << 4),
            of.after_split().flipped((kAll << to & kAll) | at_home_there << 4)};
  }

  typename Layout::Word word;
  Cell<u16> high[kSlots];
  Cell<u32> mid[kSlots];
  Cell<u64> value[kSlots];

 private:
  static constexpr u32 kAll = 15;
  static constexpr u32 kHomeOfSmall = 48;  // shift of the bits in value[3]
  static u32 free(Word of) { return static_cast<u32>(of.word() >> Word::kOwnShift) & kAll; }
  static u32 home_of_large(Word of) { return static_cast<u32>(of.word() >> (Word::kOwnShift + 4)) & kAll; }
  u32 home(Word of) const {
    return is_small(of) ? static_cast<u32>(value[3].load() >> kHomeOfSmall) & ~free(of) & kAll : home_of_large(of);
  }
  static bool is_small(Word of) { return of.bits() < Id::kImplicit; }

  /// Returns a mask of the slots with these upper 48 bits.
  [[gnu::always_inline]] u32 equal(u64 hash) const {
    if constexpr (Layout::Machine::kReadsWholeLines) {
      Layout::Machine::touch(this, kLineBytes, Access::kRead);
      return equal_hashes_of_four(this, hash);
    }
    u32 found = 0;
    for (u32 i = 0; i < kSlots; ++i) {
      if (mid[i].load() == static_cast<u32>(hash >> 16) && high[i].load() == static_cast<u16>(hash >> 48))
        found |= 1u << i;
    }
    return found;
  }
  [[gnu::noinline]] std::pair<Word, Word> split_small_to(FourBucket& born, u64 number, Word of) {
    std::array<std::pair<std::optional<Id>, u64>, kSlots> pairs;
    for (u32 i = 0; i < kSlots; ++i) pairs[i] = {id_at(i, number, of), value[i].load()};
    const Word empty = of.after_split().flipped(kAll);
    std::array<Word, 2> words{empty, empty};
    for (u32 i = 0; i < kSlots; ++i) {
      if (!pairs[i].first) continue;
      const Id id = *pairs[i].first;
      const u64 hash = hash_here(id.hashes(), number, of.bits());
      const bool stray = hash != id.hashes().home();
      // A pair that stays keeps its slot, so that no other slot still looks like it.
      if ((hash >> of.bits() & 1) == 0) {
        words[0] = put(i, number, id, pairs[i].second, stray, words[0]);
      } else {
        words[1] = born.put(born.free_slot(words[1]), number, id, pairs[i].second, stray, words[1]);
      }
    }
    return {words[0], words[1]};
  }
  u64 low_of_small(u32 slot) const { return value[3].load() >> 16 * slot & 0xffff; }
  [[gnu::noinline]] u32 slot_of_small(u32 found, u64 hash) const {
    for (; found != 0; found &= found - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(found));
      if (low_of_small(slot) == (hash & 0xffff)) return slot;
    }
    return kSlots;
  }
};

}  // namespace latchlab::cuckoo
