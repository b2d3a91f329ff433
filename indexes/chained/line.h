#pragma once
// What chains of lines are made of: a bucket is a line of three pairs, and so is a node.
//
//     bucket   | latch | word | key 0 ... 2 | value 0 ... 2 |
//     node     | next  | free | key 0 ... 2 | value 0 ... 2 |
//
// Any u64 is a key. A slot is free if it holds a key that cannot be in this bucket: one whose hash has another lowest
// bit than the bucket's number. A split gives the number a higher bit (the lowest is there from the beginning), so it
// cannot be in what comes of a bucket either. So a search compares keys and nothing else.
#include <new>

#include "indexes/chained/hash.h"
#include "indexes/chained/word.h"

namespace latchlab::chained {

/// The least key whose hash has this lowest bit.
constexpr u64 least_key(u64 bit) {
  u64 key = 0;
  while ((hash_of(U64Key(key)) & 1) != bit) ++key;
  return key;
}
inline constexpr u64 kKeyOfBit[2] = {least_key(0), least_key(1)};

/// What a free slot of bucket b holds.
constexpr u64 free_key(u64 b) { return kKeyOfBit[1 - (b & 1)]; }

template <class Layout>
class Pairs {
  using Cell = typename Layout::template Cell<u64>;

 public:
  static constexpr u32 kSlots = 3;

  explicit Pairs(u64 free) {
    for (Cell& cell : key) new (&cell) Cell(free);
  }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  /// The first slot with this key, or kSlots.
  [[gnu::always_inline]] u32 slot_of(u64 wanted) const {
    u32 slot = 0;
    while (slot < kSlots && key[slot].load() != wanted) ++slot;
    return slot;
  }
  void put(u32 slot, u64 new_key, u64 new_value) {
    value[slot].store(new_value);
    key[slot].store(new_key);
  }

  Cell key[kSlots];
  Cell value[kSlots];
};

/// Guarded by the latch of its bucket.
template <class Layout>
struct alignas(kLineBytes) LineNode {
  LineNode(u64 free, LineNode* after) : next(after), pairs(free) {}
  typename Layout::template Cell<LineNode*> next;
  Pairs<Layout> pairs;
};

template <class Layout>
struct alignas(kLineBytes) LineBucket {
  explicit LineBucket(u64 number) : pairs(free_key(number)) {}
  LineBucket(const LineBucket&) = delete;
  LineBucket& operator=(const LineBucket&) = delete;
  u8 tag() const { return 0; }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;  // Word<LineNode<Layout>>
  Pairs<Layout> pairs;
};

}  // namespace latchlab::chained
