#pragma once
// The keys of a node, in rows that a search compares at once. A search looks for a Sought; a place of a node has a
// Kept.
//
//   u64            one word, both sought and kept
//   byte strings   sought: a head and a view of the key; kept: a head and a record of the key, a block of its own that
//                  never changes. The head is the key's first eight bytes. So a search reads records only of keys whose
//                  heads are equal to that of the sought key
//
// Words are kept with their sign bits flipped: the processor compares signed words. A place that is unused has the
// greatest word, kNone, which no search counts as smaller. A key may have this word, too. A byte string is then told
// from an unused place by its record.
//
// In a large node a search is binary (search.h). It goes through the places of all keys in their order, also the unused
// ones, which are behind all others.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "indexes/btree/search.h"
#include "indexes/btree/sizes.h"
#include "src/arch/simd.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/types.h"
#include "src/machine/machine.h"
#include "sync/attempt.h"

namespace latchlab::btree {

inline constexpr u64 kSign = u64{1} << 63;
inline constexpr u64 kNone = ~kSign;  ///< the greatest word of all

/// Returns true if a is the smaller word.
inline bool less_word(u64 a, u64 b) { return static_cast<i64>(a) < static_cast<i64>(b); }

/// A row of words.
template <class Layout, u32 kMany>
class Words {
  using Machine = typename Layout::Machine;

 public:
  u64 load(u32 place) const { return cell_[place].load(); }
  void prefetch(u32 place) const { Machine::prefetch(&cell_[place], Access::kRead); }
  void store(u32 place, u64 word) { cell_[place].store(word); }

  /// Returns the number of words that are less than `bound`.
  [[gnu::always_inline]] u32 less(u64 bound) const {
    if constexpr (Machine::kReadsWholeLines) {
      Machine::touch(cell_, sizeof(cell_), Access::kRead);
      return count_less<kMany>(cell_, bound);
    } else {
      u32 less = 0;
      for (const Word& cell : cell_) less += less_word(cell.load(), bound);
      return less;
    }
  }
  /// Returns the places of the words that are equal to `word`, as a mask.
  [[gnu::always_inline]] u32 equal(u64 word) const {
    if constexpr (Machine::kReadsWholeLines) {
      Machine::touch(cell_, sizeof(cell_), Access::kRead);
      return equal_words<kMany>(cell_, word);
    } else {
      u32 equal = 0;
      for (u32 i = 0; i < kMany; ++i) equal |= u32{cell_[i].load() == word} << i;
      return equal;
    }
  }

 private:
  struct Word : Layout::template Cell<u64> {
    Word() : Layout::template Cell<u64>(kNone) {}
  };

  alignas(16) Word cell_[kMany];  // so that a comparison loads it
};

/// The forms of a key.
template <class Key>
struct Forms;

template <>
struct Forms<U64Key> {
  using Sought = u64;
  using Kept = u64;

  static Sought sought(U64Key key) { return key.raw() ^ kSign; }
  static Sought sought(Kept key) { return key; }
  static U64Key key_of(Kept key) { return U64Key(key ^ kSign); }
  static bool less_than(Sought a, Sought b) { return less_word(a, b); }
  static bool less(Kept kept, Sought key) { return less_word(kept, key); }
  static bool not_greater(Kept kept, Sought key) { return !less_word(key, kept); }
  /// Returns true if a Kept is that of an unused place for sure.
  static constexpr bool unused(Kept) { return false; }
  /// Returns true if an unused place may look like the key.
  static constexpr bool is_none(Sought key) { return key == kNone; }
  /// Returns a byte of a hash of the key.
  static u8 mark(Sought key) { return static_cast<u8>(key * kMixFactor >> 56); }

  /// Returns the Kept of a new key.
  template <class Tx>
  static Attempt<Kept> make(Tx&, Sought key) {
    return key;
  }
  /// Returns the Kept of a key that is greater than `left` and not greater than `right`.
  template <class Tx>
  static Attempt<Kept> make_between(Tx&, Kept, Sought right) {
    return right;
  }
  template <class Tx>
  static void retire(Tx&, Kept) {}
  template <class Pool>
  static void free(Pool&, Kept) {}
};

/// The bytes of a key, which never change.
class Record {
 public:
  explicit Record(const BytesKey& key) : size_(key.spelled_size()) {
    if (size_ != 0) std::memcpy(data(), key.spelled(), size_);
  }
  static std::size_t bytes_for(const BytesKey& key) { return sizeof(Record) + key.spelled_size(); }
  std::size_t bytes() const { return sizeof(Record) + size_; }
  BytesKey key() const { return BytesKey(reinterpret_cast<const u8*>(this + 1), size_); }

 private:
  u8* data() { return reinterpret_cast<u8*>(this + 1); }
  const u32 size_;
};

template <>
struct Forms<BytesKey> {
  struct Sought {
    u64 head;
    BytesKey key;
  };
  struct Kept {
    u64 head;
    const Record* record;  // null in an unused place
  };

  static Sought sought(const BytesKey& key) {
    // Padded with the byte 0, which no spelled key has. So the order of heads is that of keys.
    u64 head = 0;
    if (const u32 bytes = std::min<u32>(key.spelled_size(), sizeof(head)); bytes != 0)
      std::memcpy(&head, key.spelled(), bytes);
    return {__builtin_bswap64(head) ^ kSign, key};
  }
  static Sought sought(Kept key) { return {key.head, key.record->key()}; }
  static BytesKey key_of(Kept key) { return key.record->key(); }
  static bool less_than(const Sought& a, const Sought& b) {
    return a.head == b.head ? a.key < b.key : less_word(a.head, b.head);
  }
  /// Returns true if a kept key is less than `key`, or not greater. In an unused place it is neither.
  [[gnu::always_inline]] static bool less(Kept kept, const Sought& key) {
    if (kept.head != key.head) [[likely]]
      return less_word(kept.head, key.head);
    return kept.record != nullptr && kept.record->key() < key.key;
  }
  [[gnu::always_inline]] static bool not_greater(Kept kept, const Sought& key) {
    if (kept.head != key.head) [[likely]]
      return less_word(kept.head, key.head);
    return kept.record != nullptr && !(key.key < kept.record->key());
  }
  static bool unused(Kept key) { return key.record == nullptr; }
  static constexpr bool is_none(const Sought&) { return false; }
  static u8 mark(const Sought& key) {
    return static_cast<u8>(
        hash_bytes(std::string_view(reinterpret_cast<const char*>(key.key.spelled()), key.key.spelled_size()), 0));
  }

  template <class Tx>
  static Attempt<Kept> make(Tx& tx, const Sought& key) {
    const Record* const record = tx.template make<Record>(key.key);
    if (record == nullptr) return kNoMemory;
    return Kept{key.head, record};
  }
  /// Returns the shortest such key: the bytes that `right` shares with `left`, and one more.
  template <class Tx>
  static Attempt<Kept> make_between(Tx& tx, Kept left, const Sought& right) {
    const u32 shared = common_prefix(left.record->key(), right.key);
    return make(tx, sought(BytesKey(right.key.spelled(), std::min(shared + 1, right.key.spelled_size()))));
  }
  template <class Tx>
  static void retire(Tx& tx, Kept key) {
    tx.retire(const_cast<Record*>(key.record), key.record->bytes());
  }
  template <class Pool>
  static void free(Pool& pool, Kept key) {
    pool.free(const_cast<Record*>(key.record), key.record->bytes());
  }
};

/// The keys of a node with room for kMany. Searches of a large node take places(i): the place of key i.
template <class Layout, class Key, u32 kMany>
class Keys;

template <class Layout, u32 kMany>
class Keys<Layout, U64Key, kMany> {
  using Sought = Forms<U64Key>::Sought;
  using Kept = Forms<U64Key>::Kept;

 public:
  Kept load(u32 place) const { return words_.load(place); }
  void store(u32 place, Kept key) { words_.store(place, key); }
  void clear(u32 place) { words_.store(place, kNone); }
  /// Prefetches what a search compares first.
  void prefetch(u32 place) const { words_.prefetch(place); }

  /// Returns the number of keys that are less than `key`.
  [[gnu::always_inline]] u32 less(Sought key) const { return words_.less(key); }
  template <class Places>
  [[gnu::always_inline]] u32 less(Sought key, const Places& places) const {
    return count_before<kMany>([&](u32 i) __attribute__((always_inline)) { return less_word(load(places(i)), key); });
  }
  /// Returns the number of keys, of `count` sorted ones, that are not greater than `key`.
  template <class Count>
  [[gnu::always_inline]] u32 not_greater(Sought key, const Count& count) const {
    if (key == kNone) [[unlikely]]
      return count();
    if constexpr (kLarge<Layout>) {
      return less(key + 1, std::identity());
    } else {
      return words_.less(key + 1);
    }
  }
  /// Returns true if this is the key at `place`, which is in use.
  bool is_at(u32 place, Sought key) const { return load(place) == key; }
  /// Returns the place of a key, or kMany. If the key has the word of unused places, it can only be at last().
  template <class Last>
  [[gnu::always_inline]] u32 find(Sought key, const Last& last) const {
    if (key == kNone) [[unlikely]] {
      const u32 place = last();
      return place != kMany && words_.load(place) == kNone ? place : kMany;
    }
    const u32 equal = words_.equal(key);
    return equal == 0 ? kMany : static_cast<u32>(std::countr_zero(equal));
  }

 private:
  Words<Layout, kMany> words_;
};

template <class Layout, u32 kMany>
class Keys<Layout, BytesKey, kMany> {
  using Sought = Forms<BytesKey>::Sought;
  using Kept = Forms<BytesKey>::Kept;

 public:
  Kept load(u32 place) const { return {heads_.load(place), record_[place].load()}; }
  void store(u32 place, Kept key) {
    heads_.store(place, key.head);
    record_[place].store(key.record);
  }
  void clear(u32 place) { store(place, {kNone, nullptr}); }
  void prefetch(u32 place) const { heads_.prefetch(place); }

  u32 less(const Sought& key) const {
    return count(key, [&](const Record& record) { return record.key() < key.key; });
  }
  template <class Places>
  u32 less(const Sought& key, const Places& places) const {
    return count_before<kMany>([&](u32 i) { return Forms<BytesKey>::less(load(places(i)), key); });
  }
  template <class Count>
  u32 not_greater(const Sought& key, const Count&) const {
    if constexpr (kLarge<Layout>) {
      return count_before<kMany>([&](u32 i) { return Forms<BytesKey>::not_greater(load(i), key); });
    } else {
      return count(key, [&](const Record& record) { return !(key.key < record.key()); });
    }
  }
  bool is_at(u32 place, const Sought& key) const {
    const Kept kept = load(place);
    return kept.head == key.head && kept.record != nullptr && kept.record->key() == key.key;
  }
  template <class Last>
  u32 find(const Sought& key, const Last&) const {
    for (u32 equal = heads_.equal(key.head); equal != 0; equal &= equal - 1) {
      const u32 place = static_cast<u32>(std::countr_zero(equal));
      const Record* const record = record_[place].load();
      if (record != nullptr && record->key() == key.key) return place;
    }
    return kMany;
  }

 private:
  /// Returns the number of keys with smaller heads, and of those with the same head that count.
  template <class Counts>
  u32 count(const Sought& key, const Counts& counts) const {
    u32 all = heads_.less(key.head);
    for (u32 equal = heads_.equal(key.head); equal != 0; equal &= equal - 1) {
      const Record* const record = record_[std::countr_zero(equal)].load();
      all += record != nullptr && counts(*record);
    }
    return std::min(all, kMany);  // a key that moved between the two searches may count twice
  }

  Words<Layout, kMany> heads_;
  typename Layout::template Cell<const Record*> record_[kMany]{};
};

}  // namespace latchlab::btree
