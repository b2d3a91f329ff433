// Bugs of chained tables for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::chained {

template <class Flag>
struct BugFlags {
  /// A reader without a latch trusts a miss beside a split.
  static inline Flag kTrustMiss{};
  /// A split, under a policy whose readers have a latch, stores the new bucket's word before the chain is complete.
  static inline Flag kPublishFirst{};
  /// A split of chained_line stores the new bucket's word before its pairs.
  static inline Flag kLineFirst{};
};

}  // namespace latchlab::chained
