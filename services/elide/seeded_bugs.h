// Bugs of elision for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

#include <type_traits>

namespace latchlab::elide {

template <class FlagType>
struct BugFlags {
  using Flag = FlagType;

  /// A transaction does not read the lock word.
  static inline Flag kDropSubscription{};
  /// An inner lock is not subscribed to.
  static inline Flag kDropInnerSubscription{};
  /// An unlock ends the transaction without a look at the lock word.
  static inline Flag kEndOnHeld{};
  /// An unlock of a free lock ends a transaction without a test whether there is one.
  static inline Flag kEndOutside{};
  /// An unlock of a lock that the transaction has not locked ends the transaction.
  static inline Flag kEndByStranger{};
  /// The unlock of an inner lock ends the transaction.
  static inline Flag kEndByInner{};
  /// A try inside a transaction looks at the lock word.
  static inline Flag kTryInside{};
  /// A condition wait inside a transaction makes the call.
  static inline Flag kWaitInside{};
  /// A lock that was released by a condition wait is elided again.
  static inline Flag kForgetWait{};
  /// Mutexes of every kind are elided.
  static inline Flag kElideAllKinds{};
};

using NoElisionBugs = BugFlags<std::false_type>;

}  // namespace latchlab::elide
