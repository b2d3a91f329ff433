#pragma once
// A few pairs that move from leaf to leaf: copies of u64 pairs, views of byte-string pairs.
#include "indexes/art/child.h"
#include "src/base/key.h"

namespace latchlab::art {

template <class Key>
class Group {
 public:
  static constexpr u32 kMax = Child::kMaxPairs + 1;  ///< the pairs of a full leaf and one more

  void add(const Key& key, u64 value) {
    key_[size_] = key;
    value_[size_++] = value;
  }
  /// Adds the pairs of a leaf.
  template <class Leaf>
  void add_all(const Leaf& leaf, u32 pairs) {
    for (u32 i = 0; i < pairs; ++i) add(leaf.key(i), leaf.value(i));
  }
  /// Adds the pairs of a leaf, except that of `but`.
  template <class Leaf>
  void add_all_but(const Leaf& leaf, u32 pairs, const Key& but) {
    for (u32 i = 0; i < pairs; ++i) {
      if (const Key key = leaf.key(i); !(key == but)) add(key, leaf.value(i));
    }
  }
  u32 size() const { return size_; }
  const Key& key(u32 i) const { return key_[i]; }
  u64 value(u32 i) const { return value_[i]; }

 private:
  Key key_[kMax];
  u64 value_[kMax] = {};  // initialized only to avoid a false warning of g++: no value is read before it is added
  u32 size_ = 0;
};

}  // namespace latchlab::art
