// Bugs of the reservation station for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::station {

template <class Flag>
struct BugFlags {
  /// Operations are answered by a look at the index, before their chain is written back.
  static inline Flag kAnswerEarly{};
  /// An operation behind an erase gets the value that was erased.
  static inline Flag kForwardErased{};
  /// Each operation is a chain of its own.
  static inline Flag kTwoChains{};
};

}  // namespace latchlab::station
