#pragma once
// The parts of `chained_line`: a bucket is one line with three pairs, and so is a node.
//
//     bucket   | latch | word | key 0 ... 2 | value 0 ... 2 |
//     node     | next  | free | key 0 ... 2 | value 0 ... 2 |
//
// Any u64 is a legal key. A slot is free if it holds a key that cannot be in this bucket. The lowest bit of that key's
// hash differs from the lowest bit of the bucket's number. A split only adds a higher bit to the number, since the
// lowest bit is there from the beginning. So that key cannot be in a descendant of the bucket either. Hence a search
// compares keys and nothing else.
#include <new>

#include "indexes/chained/hash.h"
#include "indexes/chained/word.h"

namespace latchlab::chained {

/// Returns the least key with this lowest bit in its hash.
constexpr u64 least_key(u64 bit) {
  u64 key = 0;
  while ((hash_of(U64Key(key)) & 1) != bit) ++key;
  return key;
}
inline constexpr u64 kKeyOfBit[2] = {least_key(0), least_key(1)};

/// Returns the key that marks a free slot in bucket b.
constexpr u64 free_key(u64 b) { return kKeyOfBit[1 - (b & 1)]; }

template <class Layout>
class Pairs {
  using Cell = typename Layout::template Cell<u64>;

 public:
  static constexpr u32 kSlots = 3;

  Pairs() = default;  // all slots hold key 0
  explicit Pairs(u64 free) {
    for (Cell& cell : key) new (&cell) Cell(free);
  }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  /// Returns the first slot with this key, or kSlots.
  [[gnu::always_inline]] u32 slot_of(u64 wanted) const {
    u32 slot = 0;
    while (slot < kSlots && key[slot].load() != wanted) ++slot;
    return slot;
  }
  void clear(u64 free) {
    for (Cell& cell : key) cell.store(free);
  }
  void put(u32 slot, u64 new_key, u64 new_value) {
    value[slot].store(new_value);
    key[slot].store(new_key);
  }

  Cell key[kSlots];
  Cell value[kSlots];
};

/// A node of a chain, guarded by the latch of its bucket.
template <class Layout>
struct alignas(kLineBytes) LineNode {
  LineNode(u64 free, LineNode* after) : next(after), pairs(free) {}
  typename Layout::template Cell<LineNode*> next;
  Pairs<Layout> pairs;
};

template <class Layout>
struct alignas(kLineBytes) LineBucket {
  LineBucket() = default;
  LineBucket(const LineBucket&) = delete;
  LineBucket& operator=(const LineBucket&) = delete;
  u8 tag() const { return 0; }
  void begin(u32 bits, u64 number) {
    pairs.clear(free_key(number));
    word.store(Word<void>::empty(bits).word());
  }
  static u32 bits_of(u64 word) { return Word<void>(word).bits(); }

  [[no_unique_address]] typename Layout::Latch latch;
  typename Layout::template Cell<u64> word;  // a Word<LineNode<Layout>>
  Pairs<Layout> pairs;
};

}  // namespace latchlab::chained
