// Bugs of chained on request (sync/seeded_bugs.h says what they are for).
#pragma once

namespace latchlab::chained {

template <class Flag>
struct BugFlags {
  /// A reader without a latch takes a miss beside a split for the truth.
  /// On threads.
  static inline Flag kTrustMiss{};
};

}  // namespace latchlab::chained
