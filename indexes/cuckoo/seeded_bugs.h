// Bugs of cuckoo on request (sync/seeded_bugs.h says what they are for).
#pragma once

namespace latchlab::cuckoo {

template <class Flag>
struct BugFlags {
  /// A key that leaves its primary bucket is not marked there.
  /// On threads.
  static inline Flag kDropMark{};
  /// Settling a bucket does not mark again what it leaves there.
  /// On threads.
  static inline Flag kForgetStrays{};
  /// A path is taken without a look whether its keys are still where they were.
  /// On threads.
  static inline Flag kTrustPath{};
};

}  // namespace latchlab::cuckoo
