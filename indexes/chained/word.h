#pragma once
// The word of a bucket of a chained table.
#include "src/base/types.h"

namespace latchlab::chained {

/// The number of hash bits for which a bucket is responsible (0: unborn), and the first node of its chain.
template <class Node>
class Word {
 public:
  constexpr Word() = default;
  explicit constexpr Word(u64 word) : word_(word) {}
  Word(u32 bits, Node* head) : word_(u64{bits} << kShift | reinterpret_cast<u64>(head)) {}

  u64 word() const { return word_; }
  u32 bits() const { return static_cast<u32>(word_ >> kShift); }
  Node* head() const { return reinterpret_cast<Node*>(word_ & ((u64{1} << kShift) - 2)); }
  Word with(Node* head) const { return Word(bits(), head); }

  /// Returns true while a split changes the links of the chain. Bit 0 holds this, since nodes are at even addresses.
  bool splitting() const { return (word_ & 1) != 0; }
  Word as_splitting() const { return Word(word_ | 1); }

 private:
  static constexpr u32 kShift = 56;  // no address of a user's program needs more bits

  u64 word_ = 0;
};

}  // namespace latchlab::chained
