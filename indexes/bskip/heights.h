#pragma once
// The height of a key: the highest level that has it. A part of 1/2^kBits of the keys of a level is on the next one
// too.
//
// The height follows from a hash of the key. So an insert knows it before its descent, an erasure knows on which levels
// the key is, and each run makes the same nodes.
//
// An adversary who chooses keys also chooses their heights. With keys of height 0 alone, level 0 is a list, and lookups
// go through all of its nodes. With tall keys alone, each node has one key. Answers stay correct. Where this matters,
// the keys must be hashed with a secret before they come here, or another index must be used.
#include <bit>
#include <string_view>

#include "indexes/btree/keys.h"
#include "src/base/hash.h"
#include "src/base/key.h"
#include "src/base/scale.h"
#include "src/base/types.h"

namespace latchlab::bskip {

template <class Layout>
struct Levels {
  static constexpr bool kIsTiny = Layout::kScale == Scale::kTiny;
  /// The number of levels. An erasure locks up to two nodes on each, and one attempt at most 16. The highest level has
  /// n / 2^21 keys, and grows with n: it is one node up to 2^24 keys, and some ten nodes with 2^27.
  static constexpr u32 kLevels = kIsTiny ? 4 : 8;
  static constexpr u32 kBits = kIsTiny ? 1 : 3;

  static u32 height(btree::Forms<U64Key>::Sought key) { return height_by(mix64(key)); }
  static u32 height(const btree::Forms<BytesKey>::Sought& key) {
    const auto* const text = reinterpret_cast<const char*>(key.key.spelled());
    return height_by(hash_bytes(std::string_view(text, key.key.spelled_size())));
  }

 private:
  static u32 height_by(u64 hash) {
    constexpr u64 kEnd = u64{1} << (kBits * (kLevels - 1));
    return static_cast<u32>(std::countr_zero(hash | kEnd)) / kBits;
  }
};

}  // namespace latchlab::bskip
