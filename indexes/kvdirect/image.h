#pragma once
// The content of a line of `kvdirect`, as a copy that one thread works on: ten slots of five bytes.
//
//     bits 0 .. 399     | slot 0 | slot 1 | ... | slot 9 |
//     bits 400 .. 449   a mark for each byte of the slots
//     bits 450 .. 479   the class of each slot's record: 32 bytes << class
//     bits 480 .. 511   the number of the next line of the chain, or 0
//
//     pointer slot      | address : 31 | secondary hash : 9 |          all five bytes have marks
//     inline pair       | key | value | unused to the end of a slot |  the last byte of the key and that of the value
//     do
//
// Entries lie one after the other from slot 0 on, without gaps. So what follows the last mark is free, and a line needs
// no count. An inline pair has two marks, and a pair begins with its slot, so no pair looks like a pointer slot.
//
// An address counts units of 32 bytes. The upper eight bits of the secondary hashes are a byte of each slot, so one
// SIMD comparison tests ten of them. The ninth bit is compared where they are equal.
//
// A line that was copied while another thread stored to it may hold anything. All functions stay inside the copy then.
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "src/arch/simd.h"
#include "src/base/types.h"

namespace latchlab::kvdirect {

inline constexpr u32 kSlots = 10, kSlotBytes = 5, kDataBytes = kSlots * kSlotBytes;
inline constexpr u32 kWords = kLineBytes / 8;
inline constexpr u32 kUnitBytes = 32;  ///< the least record
inline constexpr u32 kTagBits = 9;     ///< of a secondary hash
inline constexpr u32 kAddressBits = 31;

/// Returns the number of slots that an inline pair of so many bytes takes.
constexpr u32 slots_for(u32 bytes) { return (bytes + kSlotBytes - 1) / kSlotBytes; }

/// A pair or a pointer in a line.
struct Entry {
  u32 slot = 0;   ///< its first slot
  u32 slots = 0;  ///< number of its slots; 0: no entry is here, nor behind
  u32 key = 0;    ///< bytes of the key of an inline pair; 0: a pointer
  u32 value = 0;  ///< bytes of the value of an inline pair

  bool is_pointer() const { return key == 0; }
  u32 key_at() const { return slot * kSlotBytes; }
  u32 value_at() const { return key_at() + key; }
  u32 end() const { return slot + slots; }
};

class Image {
 public:
  using Words = std::array<u64, kWords>;

  /// Makes an empty line.
  Image() : word_{} {}
  explicit Image(const Words& words) : word_(words) {}
  const Words& words() const { return word_; }

  /// Returns the number of the next line, or 0.
  u32 chain() const { return chain_of(word_[7]); }
  static u32 chain_of(u64 word_7) { return static_cast<u32>(word_7 >> 32); }
  void set_chain(u32 line) { word_[7] = (word_[7] & 0xffff'ffff) | u64{line} << 32; }
  bool empty() const { return marks() == 0; }
  /// Returns the number of slots that are in use, all of them before the others.
  u32 used() const { return (static_cast<u32>(std::bit_width(marks())) + kSlotBytes - 1) / kSlotBytes; }
  bool has_room_for(u32 slots) const { return used() + slots <= kSlots; }

  /// Returns the entry that begins with this slot; it has no slots if no whole entry is there.
  [[gnu::always_inline]] Entry entry_at(u32 slot) const {
    if (slot >= kSlots) return {.slot = slot};
    const u64 here = marks() >> slot * kSlotBytes;
    if ((here & kAllMarks) == kAllMarks) return {.slot = slot, .slots = 1};
    const u64 behind_key = here & (here - 1);
    if (here == 0 || behind_key == 0) return {.slot = slot};
    const u32 key = static_cast<u32>(std::countr_zero(here)) + 1;
    const u32 both = static_cast<u32>(std::countr_zero(behind_key)) + 1;
    return {.slot = slot, .slots = slots_for(both), .key = key, .value = both - key};
  }
  /// Calls visit(entry) for each entry.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (Entry entry = entry_at(0); entry.slots != 0; entry = entry_at(entry.end())) visit(entry);
  }

  /// Returns the inline pair with this key, a number, of a line in which all entries are pairs of kKey and kValue
  /// bytes. Without it the entry has no slots.
  template <u32 kKey, u32 kValue>
  [[gnu::always_inline]] Entry find_alike(u64 key) const {
    return find_alike_in<kKey, kValue>(key, [this](u32 word) __attribute__((always_inline)) { return word_[word]; });
  }
  /// Does the same for a line of which word_at(i) is word i. The places of such pairs are constants, so each word is
  /// loaded where it is needed, and the line is not copied.
  template <u32 kKey, u32 kValue, class WordAt>
  [[gnu::always_inline]] static Entry find_alike_in(u64 key, const WordAt& word_at) {
    constexpr u32 kEach = slots_for(kKey + kValue);
    constexpr u32 kLast = kKey + kValue - 1;  // the byte of a pair that has the mark of its end
    const u64 marks = marks_of(word_at(6), word_at(7));
    // One branch for all places: which of them has the key is not predictable.
    const auto is_at = [&](u32 slot) __attribute__((always_inline)) {
      const u32 at = slot * kSlotBytes;
      return u32{number_of(at, kKey, word_at) == key} & static_cast<u32>(marks >> (at + kLast) & 1);
    };
    const u32 places = [&]<u32... kNth>(std::integer_sequence<u32, kNth...>) __attribute__((always_inline)) {
      return ((is_at(kNth * kEach) << kNth) | ...);
    }(std::make_integer_sequence<u32, kSlots / kEach>());
    if (places == 0) return {};
    const u32 slot = static_cast<u32>(std::countr_zero(places)) * kEach;
    return {.slot = slot, .slots = kEach, .key = kKey, .value = kValue};
  }
  /// Returns the inline pair with this key.
  Entry find_inline(std::span<const u8> key) const {
    Entry entry = entry_at(0);
    while (entry.slots != 0 && !(entry.key == key.size() && has_bytes(entry.key_at(), key))) {
      entry = entry_at(entry.end());
    }
    return entry;
  }
  /// Returns a mask of the pointer slots with this secondary hash: bit i stands for slot i.
  [[gnu::always_inline]] u32 pointers_with(u32 tag) const {
    u32 slots = 0;
    const u32 alike = Bytes16::fifths(word_.data()).equal_to(static_cast<u8>(tag >> 1)) & ((1u << kSlots) - 1);
    for (u32 left = alike; left != 0; left &= left - 1) {
      const u32 slot = static_cast<u32>(std::countr_zero(left));
      if ((marks() >> slot * kSlotBytes & kAllMarks) == kAllMarks && tag_at(slot) == tag) slots |= 1u << slot;
    }
    return slots;
  }

  /// Returns the unit at which the record of a pointer slot begins.
  u32 address_at(u32 slot) const { return static_cast<u32>(number(slot * kSlotBytes, 4)) & kMostAddress; }
  u32 tag_at(u32 slot) const { return static_cast<u32>(number(slot * kSlotBytes, kSlotBytes) >> kAddressBits); }
  /// Returns the class of the record of a pointer slot: it has up to 32 << class bytes.
  u32 class_at(u32 slot) const { return static_cast<u32>(word_[7] >> (kClassShift + kClassBits * slot)) & kMostClass; }

  /// Returns `bytes` bytes from byte `at` of the slots on, 1 to 8, as a number; the first is the lowest.
  [[gnu::always_inline]] u64 number(u32 at, u32 bytes) const {
    return number_of(at, bytes, [this](u32 word) __attribute__((always_inline)) { return word_[word]; });
  }
  /// Does the same for a line of which word_at(i) is word i.
  template <class WordAt>
  [[gnu::always_inline]] static u64 number_of(u32 at, u32 bytes, const WordAt& word_at) {
    const u32 word = at / 8, shift = at % 8 * 8;
    u64 low = word_at(word) >> shift;
    if (shift != 0 && word + 1 < kWords) low |= word_at(word + 1) << (64 - shift);
    return low & mask_of(bytes);
  }
  void set_number(u32 at, u32 bytes, u64 number) {
    const u32 word = at / 8, shift = at % 8 * 8;
    const u64 mask = mask_of(bytes);
    number &= mask;
    word_[word] = (word_[word] & ~(mask << shift)) | number << shift;
    if (shift + bytes * 8 > 64) {
      word_[word + 1] = (word_[word + 1] & ~(mask >> (64 - shift))) | number >> (64 - shift);
    }
  }
  bool has_bytes(u32 at, std::span<const u8> bytes) const {
    return std::memcmp(reinterpret_cast<const u8*>(word_.data()) + at, bytes.data(), bytes.size()) == 0;
  }

  // The next four change the line, which must have room for the entry, or hold it.

  /// Appends an inline pair of 2 to 50 bytes, at least one of them in the key and one in the value. Returns its entry.
  Entry append_inline(std::span<const u8> key, std::span<const u8> value) {
    const Entry entry = append_marks(static_cast<u32>(key.size()), static_cast<u32>(value.size()));
    std::memcpy(data() + entry.key_at(), key.data(), key.size());
    std::memcpy(data() + entry.value_at(), value.data(), value.size());
    return entry;
  }
  /// Does the same for a key and a value of 1 to 8 bytes as numbers.
  Entry append_inline(u64 key, u32 key_bytes, u64 value, u32 value_bytes) {
    const Entry entry = append_marks(key_bytes, value_bytes);
    set_number(entry.key_at(), key_bytes, key);
    set_number(entry.value_at(), value_bytes, value);
    return entry;
  }
  /// Appends a pointer slot, for a record of up to 32 << record_class bytes at this unit.
  void append_pointer(u32 tag, u32 address, u32 record_class) {
    const u32 slot = used();
    set_number(slot * kSlotBytes, kSlotBytes, u64{tag} << kAddressBits | address);
    set_marks(marks() | kAllMarks << slot * kSlotBytes);
    const u32 shift = kClassShift + kClassBits * slot;
    word_[7] = (word_[7] & ~(u64{kMostClass} << shift)) | u64{record_class} << shift;
  }
  /// Erases an entry. The entries behind it close up.
  void erase(const Entry& entry) {
    const u32 from = entry.end() * kSlotBytes, to = entry.key_at(), gone = entry.slots * kSlotBytes;
    std::memmove(data() + to, data() + from, kDataBytes - from);
    std::memset(data() + kDataBytes - gone, 0, gone);
    const u64 below = (u64{1} << to) - 1;
    set_marks((marks() & below) | (from < kDataBytes ? marks() >> from << to : 0));
    const u32 classes = static_cast<u32>(word_[7] >> kClassShift) & ((1u << kClassBits * kSlots) - 1);
    const u32 kept = classes & ((1u << kClassBits * entry.slot) - 1);
    const u32 moved = entry.end() < kSlots ? classes >> kClassBits * entry.end() << kClassBits * entry.slot : 0;
    word_[7] = (word_[7] & ~(u64{(1u << kClassBits * kSlots) - 1} << kClassShift)) | u64{kept | moved} << kClassShift;
  }

 private:
  static constexpr u64 kAllMarks = 31;  // of a slot
  static constexpr u32 kMostAddress = (u32{1} << kAddressBits) - 1;
  static constexpr u32 kClassShift = 2, kClassBits = 3, kMostClass = 7;  // in word 7
  static_assert(8 * kDataBytes + kDataBytes + kClassBits * kSlots + 32 == 8 * kLineBytes, "every bit is in use");

  static constexpr u64 mask_of(u32 bytes) { return bytes >= 8 ? ~u64{0} : (u64{1} << 8 * bytes) - 1; }

  u8* data() { return reinterpret_cast<u8*>(word_.data()); }
  /// Returns the marks: bit i stands for byte i of the slots.
  [[gnu::always_inline]] u64 marks() const { return marks_of(word_[6], word_[7]); }
  [[gnu::always_inline]] static u64 marks_of(u64 word_6, u64 word_7) { return word_6 >> 16 | (word_7 & 3) << 48; }
  void set_marks(u64 marks) {
    word_[6] = (word_[6] & 0xffff) | marks << 16;
    word_[7] = (word_[7] & ~u64{3}) | marks >> 48;
  }
  Entry append_marks(u32 key, u32 value) {
    const Entry entry{.slot = used(), .slots = slots_for(key + value), .key = key, .value = value};
    const u32 at = entry.key_at();
    set_marks(marks() | u64{1} << (at + key - 1) | u64{1} << (at + key + value - 1));
    return entry;
  }

  Words word_;
};

}  // namespace latchlab::kvdirect
