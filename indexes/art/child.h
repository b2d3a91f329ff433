#pragma once
// What a slot of an inner node holds: nothing, a node, or a leaf with the number of its pairs, in one word.
//
//   node   | address, 64-byte aligned          0000 |
//   leaf   | address, 16-byte aligned   0 | pairs - 1 | 1 |
//
// The number of pairs sits in the pointer, so that a leaf has no header (four pairs fill a line) and that storing one
// word in the parent publishes a pair that was appended.
#include "src/base/types.h"

namespace latchlab::art {

class Child {
 public:
  static constexpr u32 kMaxPairs = 4;

  explicit Child(u64 word) : word_(word) {}
  static Child node(const void* at) { return Child(reinterpret_cast<u64>(at)); }
  static Child leaf(const void* at, u32 pairs) { return Child(reinterpret_cast<u64>(at) | u64{pairs - 1} << 1 | 1); }

  explicit operator bool() const { return word_ != 0; }
  bool is_leaf() const { return (word_ & 1) != 0; }
  u32 pairs() const { return static_cast<u32>(word_ >> 1 & 3) + 1; }
  u64 word() const { return word_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(word_ & ~u64{15});
  }

 private:
  u64 word_;
};

}  // namespace latchlab::art
