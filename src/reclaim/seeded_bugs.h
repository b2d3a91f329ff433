// Bugs of reclamation for tests to switch on (docs/seeded_bugs.md). Reclaimers take the type of the flags as a
// parameter, std::false_type by default.
#pragma once

namespace latchlab::reclaim {

template <class Flag>
struct BugFlags {
  /// The epoch advances without a look at the threads inside.
  static inline Flag kSkipScan{};
  /// A block is freed one epoch after its stamp.
  static inline Flag kOneEpoch{};
  /// A batch is stamped with the epoch that its thread has announced, which may be one epoch old.
  static inline Flag kEarlyStamp{};
  /// A thread that leaves frees its garbage at once.
  static inline Flag kFreeOnLeave{};
  /// A second look at a block that was held does not ask whether it still is.
  static inline Flag kTrustSecondLook{};
};

}  // namespace latchlab::reclaim
