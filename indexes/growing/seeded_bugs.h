// Bugs of growing tables for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::growing {

template <class Flag>
struct BugFlags {
  /// Buckets are settled while others may still have to be split. Also found on threads, by cuckoo
  /// (indexes/seeded_threads_test.cc).
  static inline Flag kSettleEarly{};
};

}  // namespace latchlab::growing
