// Bugs of cuckoo tables for tests to switch on (sync/seeded_bugs.h explains their use). A miss that is believed from a
// latched word has no flag of its own. A reader enters only an unlatched word, and kDropValidation leaves out the check
// that it has not been latched since.
#pragma once

namespace latchlab::cuckoo {

template <class Flag>
struct BugFlags {
  /// The home of a key that becomes a stray gets no tag.
  static inline Flag kDropTag{};
  /// A split gives no tag to the strays that it cannot bring home.
  static inline Flag kForgetStrays{};
  /// A path is taken without a check that each key is still in its place.
  static inline Flag kTrustPath{};
  /// A walk visits the keys that are in a bucket, instead of those at home there.
  static inline Flag kMovedBehindHand{};
  /// A conditional erase believes the value that it read before its upgrade.
  static inline Flag kTrustFirstLook{};
};

}  // namespace latchlab::cuckoo
