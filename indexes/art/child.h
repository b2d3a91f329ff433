#pragma once
// The content of an inner node's slot, in one word: nothing, a node, or a leaf.
//
//   node   | address of its first line         0 0000 0 |
//   leaf   | address of its line          | 0 | places | 1 |
//
// A place is a quarter of a line, 16 bytes. A leaf begins at the lowest of its places and has a pair in each. The other
// places of its line are reserved for its future pairs, belong to another leaf, or are free. This layout has three
// advantages:
//   1. A leaf has no header, so four pairs fill a line.
//   2. Storing one word in the parent publishes an appended pair.
//   3. A reader may search the whole line before it knows which places count.
// A leaf of a byte string has one place, where it begins, whatever its length.
#include <bit>

#include "src/base/types.h"

namespace latchlab::art {

class Child {
 public:
  static constexpr u32 kMaxPairs = 4;
  static constexpr u32 kPlaceBytes = kLineBytes / kMaxPairs;

  explicit Child(u64 word) : word_(word) {}
  static Child node(const void* at) { return Child(reinterpret_cast<u64>(at)); }
  /// Makes the word of a leaf. `at` must be aligned to the leaf's size, so that its places are within one line.
  static Child leaf(const void* at, u32 pairs) {
    const u64 address = reinterpret_cast<u64>(at);
    // A leaf of more than two pairs has a whole line.
    const u64 first = pairs > kMaxPairs / 2 ? 0 : address % kLineBytes / kPlaceBytes;
    const u64 places = ((u64{1} << pairs) - 1) << first;
    return Child((address & ~(u64{kLineBytes} - 1)) | places << 1 | 1);
  }

  /// Returns the same leaf with the next place added. That place must be reserved for this leaf.
  Child with_next_place() const { return Child(word_ | (word_ & kPlaces) << 1); }

  explicit operator bool() const { return word_ != 0; }
  bool is_leaf() const { return (word_ & 1) != 0; }
  u64 word() const { return word_; }

  template <class T>
  T* as_node() const {
    return reinterpret_cast<T*>(word_);
  }
  template <class T>
  T* as_leaf() const {
    return reinterpret_cast<T*>(address_of_line() + static_cast<u32>(std::countr_zero(places())) * kPlaceBytes);
  }
  /// Returns the first line of a node, or the line of a leaf.
  void* line() const { return reinterpret_cast<void*>(address_of_line()); }
  /// Return the places of a leaf in its line (bit i: place i), and their number.
  u32 places() const { return static_cast<u32>(word_ >> 1) & ((1u << kMaxPairs) - 1); }
  u32 pairs() const { return static_cast<u32>(std::popcount(places())); }

 private:
  static constexpr u64 kPlaces = ((1u << kMaxPairs) - 1) << 1;

  u64 address_of_line() const { return word_ & ~(u64{kLineBytes} - 1); }

  u64 word_;
};

}  // namespace latchlab::art
