#pragma once
// The two buckets of a key in a cuckoo table that grows.
//
// A key's home is the bucket of its hash. Its other bucket is that of hash ^ jump(tag), where the tag is eight bits of
// the hash. So either bucket and the tag give the other bucket, at every size of the table (partial-key cuckoo hashing:
// Fan, Andersen, Kaminsky, MemC3, NSDI 2013).
#include "indexes/growing/buckets.h"
#include "src/base/hash.h"

namespace latchlab::growing {

/// The hashes of a key.
class TwoHashes {
 public:
  explicit constexpr TwoHashes(u64 home) : home_(home) {}
  constexpr u64 home() const { return home_; }
  constexpr u64 other() const { return home_ ^ jump(tag()); }
  static constexpr u64 kMostTag = 255;
  /// Returns the tag, 1 to kMostTag.
  constexpr u64 tag() const { return ((home_ >> 56) * kMostTag >> 8) + 1; }
  /// Returns the difference of the two hashes of keys with this tag.
  static constexpr u64 jump(u64 tag) { return mix64(tag) >> 24; }

 private:
  u64 home_;
};

/// Returns true if the bucket with this number and these bits is responsible for the hash.
constexpr bool answers(u64 hash, u64 number, u32 bits) { return low_bits(hash, bits) == number && bits != 0; }

/// Returns the hash by which a key is in this bucket.
constexpr u64 hash_here(TwoHashes hashes, u64 number, u32 bits) {
  return answers(hashes.home(), number, bits) ? hashes.home() : hashes.other();
}

}  // namespace latchlab::growing
