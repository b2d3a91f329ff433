// Bugs of sized values for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::sized {

template <class Flag>
struct BugFlags {
  /// Operations do not enter the values' epoch.
  static inline Flag kDropEpoch{};
  /// A modification retires the old block before it has replaced the word.
  static inline Flag kRetireFirst{};
  /// A modification replaces whatever word is there.
  static inline Flag kTrustWord{};
  /// A change of a claimed pair counts as one of a pair that stays.
  static inline Flag kForgetClaim{};
  /// A modification that erases takes whatever word is there, and retires the one that it has read.
  static inline Flag kEraseAnyWord{};
  /// A pin begins after its thread has left the epoch.
  static inline Flag kPinLate{};
  /// The reclaimer does not ask for pins.
  static inline Flag kIgnorePins{};
  /// A visitor runs after its thread has left the epoch.
  static inline Flag kVisitLate{};
  /// The hand of a cache evicts a key whatever word it has.
  static inline Flag kEvictByKey{};
  /// A move to the other memory retires the old block before it has replaced the word.
  static inline Flag kRetireBeforeMove{};
  /// A move replaces whatever word is there.
  static inline Flag kMoveAnyWord{};
  /// A move that comes too late retires the old block.
  static inline Flag kRetireLateMove{};
};

}  // namespace latchlab::sized
