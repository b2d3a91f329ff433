// Bugs of memc3 for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::memc3 {

template <class Flag>
struct BugFlags {
  /// A miss does not validate the first bucket after the second.
  static inline Flag kForgetFirst{};
  /// The first key of a path moves first, into a slot that the next one has not left yet.
  static inline Flag kRootFirst{};
  /// A path is taken without a check that its slots still hold keys that may go to the next bucket.
  static inline Flag kTrustPath{};
  /// An insert at home does not validate its miss in the other bucket.
  static inline Flag kForgetOther{};
  /// A walk visits the keys that are in a bucket, instead of those at home there.
  static inline Flag kMovedBehindHand{};
};

}  // namespace latchlab::memc3
