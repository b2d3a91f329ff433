// Bugs of cuckoo tables for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::cuckoo {

template <class Flag>
struct BugFlags {
  /// A key that leaves its primary bucket is not marked there. Also found on threads (indexes/seeded_threads_test.cc).
  static inline Flag kDropMark{};
  /// A thread that settles a bucket does not mark again the strays that it leaves there. Also found on threads.
  static inline Flag kForgetStrays{};
  /// A path is taken without a check that each key is still in its place. Also found on threads.
  static inline Flag kTrustPath{};
};

}  // namespace latchlab::cuckoo
