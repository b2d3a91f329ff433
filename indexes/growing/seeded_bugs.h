// Bugs of growing tables on request (sync/seeded_bugs.h says what they are for).
#pragma once

namespace latchlab::growing {

template <class Flag>
struct BugFlags {
  /// Buckets are settled while others may still have to be split.
  /// On threads: cuckoo.
  static inline Flag kSettleEarly{};
};

}  // namespace latchlab::growing
