// Bugs of kvdirect for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::kvdirect {

template <class Flag>
struct BugFlags {
  /// A put or an erase that takes or gives blocks does not upgrade their shard.
  static inline Flag kForgetShard{};
  /// It does not upgrade the bucket.
  static inline Flag kForgetHome{};
};

}  // namespace latchlab::kvdirect
