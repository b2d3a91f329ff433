#pragma once
// The word of a bucket of a chained table: one word, so that one store makes a key appear or disappear.
//
//     | filter : 16 | splitting : 1 | address of the first node : 42 | bits : 5 |                 chained
//     | filter : 15 | ordered : 1 | splitting : 1 | address of the first node : 42 | bits : 5 |   vip
//
// The filter has a bit for every key of the chain, which the key's hash chooses. So an absent key is mostly known
// without its chain, whose nodes would each cost a miss that waits for the one before: with one key in the chain, 15 of
// 16 absent keys. An erasure leaves the filter as it is, since other keys may have the same bit. A put that the filter
// has misled makes it exact again.
#include "src/base/types.h"

namespace latchlab::chained {

/// The content of a bucket's word. Zero is an unborn bucket. kLearnsOrder says whether there is a bit for `ordered`.
template <class Node, bool kLearnsOrder = false>
class Word {
 public:
  static constexpr u32 kMostBits = 31;

  constexpr Word() = default;
  explicit constexpr Word(u64 word) : word_(word) {}
  /// Returns the word of an empty chain.
  static constexpr Word empty(u32 bits) { return Word(u64{bits}); }

  constexpr u64 word() const { return word_; }
  /// Returns the number of hash bits for which the bucket is responsible (0: unborn).
  constexpr u32 bits() const { return static_cast<u32>(word_ & kBits); }
  /// Returns the first node of the chain.
  Node* head() const { return reinterpret_cast<Node*>(word_ & kAddress); }
  /// Returns the first node, or null if no key with this hash is in the chain.
  [[gnu::always_inline]] Node* head_for(u64 hash) const { return may_hold(hash) ? head() : nullptr; }
  [[gnu::always_inline]] constexpr bool may_hold(u64 hash) const { return (word_ >> place_of(hash) & 1) != 0; }

  /// Returns the word with another first node, for a chain of the same keys or fewer.
  Word with_head(Node* head) const {
    if (head == nullptr) return empty(bits());
    return Word((word_ & ~kAddress) | reinterpret_cast<u64>(head));
  }
  /// Returns the word with one more key in the filter.
  constexpr Word with_key(u64 hash) const { return Word(word_ | u64{1} << place_of(hash)); }
  /// Returns the word with an empty filter.
  constexpr Word without_keys() const { return Word(word_ & ((u64{1} << kFilterShift) - 1)); }
  /// Returns the word, still without a node, of a part of this chain.
  constexpr Word part(u32 bits) const { return Word((word_ & kOrdered) | bits); }

  /// Returns true while a split changes the links of the chain.
  constexpr bool splitting() const { return (word_ & kSplitting) != 0; }
  constexpr Word as_splitting() const { return Word(word_ | kSplitting); }
  /// Returns true if the order of the chain has been learned.
  constexpr bool ordered() const { return (word_ & kOrdered) != 0; }
  constexpr Word as_ordered() const { return Word(word_ | kOrdered); }

 private:
  // Linux gives a program addresses of at most 47 bits, unless it asks for others. Nodes have more than 16 bytes, so
  // they are at multiples of 32 (Pool::allocate).
  static constexpr u64 kBits = 31;  // the bits of kMostBits
  static constexpr u64 kAddress = (u64{1} << 47) - 1 - kBits;
  static constexpr u64 kSplitting = u64{1} << 47, kOrdered = kLearnsOrder ? u64{1} << 48 : 0;
  static constexpr u32 kFilterShift = kLearnsOrder ? 49 : 48, kFilterBits = 64 - kFilterShift;

  /// Returns the place of a hash's bit in the word. The hash's highest bits choose it, which choose no bucket.
  [[gnu::always_inline]] static constexpr u64 place_of(u64 hash) {
    return kFilterShift + ((hash >> 56) * kFilterBits >> 8);
  }

  u64 word_ = 0;
};

}  // namespace latchlab::chained
