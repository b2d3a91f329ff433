// Bugs of growing tables for tests to switch on (docs/seeded_bugs.md).
#pragma once

namespace latchlab::growing {

template <class Flag>
struct BugFlags {
  /// A lookup believes that the bucket of its guess is responsible for the hash, whatever bits it has.
  static inline Flag kTrustGuess{};
  /// A walk takes a bucket that has been split since the walk began for the whole one.
  static inline Flag kPassHalf{};
};

}  // namespace latchlab::growing
