#pragma once
// The leaves of ART: one to four pairs that share the path to their slot.
//
//   u64 keys      | key value | key value | key value | key value |      32 or 64 bytes, within one line
//   byte strings  | value | bytes of the key | the key, spelled |        one pair, any length
//
// A leaf has no latch: its node guards it. A place for a pair is written once, before the slot's word publishes the
// pair. Erasing copies the leaf. So a reader with an older word sees fewer pairs, and never a different pair in the
// same place. Only values change in place, each by one store.
//
// Several pairs a leaf save the nodes that would separate them. At 16 M random keys a third of the slots of the lowest
// level hold two pairs or more. The first leaf has room for a second pair, so a quarter of the inserts copy nothing.
// Measured against leaves of 16 bytes (16 M keys, olc, ten interleaved runs): 5 % more inserts a second, and 32.6 bytes
// a key instead of 26.2.
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "indexes/art/child.h"
#include "indexes/art/group.h"
#include "src/arch/simd.h"
#include "src/base/key.h"
#include "src/machine/machine.h"

namespace latchlab::art {

template <class Layout, class Key>
class Leaf;

template <class Layout>
class Leaf<Layout, U64Key> {
  using Cell = typename Layout::template Cell<u64>;

 public:
  static constexpr bool kIsLeaf = true;
  static constexpr u32 kMaxPairs = Child::kMaxPairs;

  /// Returns the number of pairs for which a leaf made for `pairs` has room: half a line's or a whole line's.
  static constexpr u32 room(u32 pairs) { return pairs <= 2 ? 2 : 4; }
  static constexpr std::size_t bytes_of(u32 pairs) { return room(pairs) * sizeof(Pair); }
  std::size_t bytes(u32 pairs) const { return bytes_of(pairs); }

  static constexpr std::size_t bytes_for(U64Key, u64) { return bytes_of(1); }
  Leaf(U64Key key, u64 value) {
    begin_spare(1);
    begin(0, key, value);
  }

  static std::size_t bytes_for(const Group<U64Key>& group) { return bytes_of(group.size()); }
  explicit Leaf(const Group<U64Key>& group) {
    begin_spare(group.size());
    for (u32 i = 0; i < group.size(); ++i) begin(i, group.key(i), group.value(i));
  }

  /// Makes a leaf with the pairs of another leaf and one more.
  template <u32 kPairs>
  static constexpr std::size_t bytes_for(const Leaf&, std::integral_constant<u32, kPairs>, U64Key, u64) {
    return bytes_of(kPairs + 1);
  }
  template <u32 kPairs>
  Leaf(const Leaf& from, std::integral_constant<u32, kPairs>, U64Key key, u64 value) {
    begin_spare(kPairs + 1);
    for (u32 i = 0; i < kPairs; ++i) begin(i, from.key(i), from.value(i));
    begin(kPairs, key, value);
  }

  U64Key key(u32 i) const { return U64Key(pair_[i].key.load()); }
  u64 value(u32 i) const { return pair_[i].value.load(); }
  /// Fills the place of a pair that no word publishes yet.
  void append(u32 i, U64Key key, u64 value) {
    pair_[i].value.store(value);
    pair_[i].key.store(key.raw());
  }

  /// Returns the value cell of the key's pair, or null. There is no branch on the number of pairs. It would be
  /// mispredicted half of the time, and hold back the next lookup until this leaf's line has come. The function is also
  /// short: instructions that wait for the line limit how far ahead the processor looks. Measured: the fewer there are,
  /// the more lookups a second.
  static Cell* find(Child child, U64Key key) {
    Pair* const line = static_cast<Pair*>(child.line());
    u32 equal = 0;
    if constexpr (Layout::Machine::kReadsWholeLines) {
      Layout::Machine::touch(line, kLineBytes, Access::kRead);
      equal = equal_in_line(line, key.raw()) & child.places();
    } else {
      for (u32 left = child.places(); left != 0; left &= left - 1) {
        equal |= u32{line[std::countr_zero(left)].key.load() == key.raw()} << std::countr_zero(left);
      }
    }
    return equal == 0 ? nullptr : &line[static_cast<u32>(std::countr_zero(equal))].value;
  }

 private:
  struct Pair {
    Pair() = default;
    Pair(U64Key k, u64 v) : key(k.raw()), value(v) {}
    Cell key, value;
  };
  void begin(u32 i, U64Key key, u64 value) { new (&pair_[i]) Pair(key, value); }
  // Constructs the spare place that a leaf of one pair or of three has.
  void begin_spare(u32 pairs) {
    if (room(pairs) > pairs) new (&pair_[room(pairs) - 1]) Pair;
  }

  union {
    Pair pair_[1];  // an array of room(pairs) pairs
  };
};

template <class Layout>
class Leaf<Layout, BytesKey> {
  using Cell = typename Layout::template Cell<u64>;

 public:
  static constexpr bool kIsLeaf = true;
  static constexpr u32 kMaxPairs = 1;

  static std::size_t bytes_for(const BytesKey& key, u64) { return kHeader + key.spelled_size(); }
  std::size_t bytes(u32) const { return kHeader + size_; }

  Leaf(const BytesKey& key, u64 value) : value_(value), size_(key.spelled_size()) {
    if (size_ != 0) std::memcpy(data(), key.spelled(), size_);
  }

  BytesKey key(u32) const { return BytesKey(data(), size_); }
  u64 value(u32) const { return value_.load(); }
  static Cell* find(Child child, const BytesKey& wanted) {
    Leaf* const leaf = child.template as_leaf<Leaf>();
    return leaf->key(0) == wanted ? &leaf->value_ : nullptr;
  }

 private:
  static constexpr std::size_t kHeader = 12;
  u8* data() { return reinterpret_cast<u8*>(this) + kHeader; }
  const u8* data() const { return reinterpret_cast<const u8*>(this) + kHeader; }

  Cell value_;
  const u32 size_;  // fixed, like the key bytes that follow it
};

}  // namespace latchlab::art
