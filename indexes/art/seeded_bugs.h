// Bugs of ART for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::art {

template <class Flag>
struct BugFlags {
  /// A node publishes the index of a child before the child.
  static inline Flag kChildAfterIndex{};
  /// An erase of a value from a Node256 clears its present bit before its slot.
  static inline Flag kBitBeforeSlot{};
  /// A reader without a latch takes a slot and a present bit of two moments for the value 0.
  static inline Flag kDropProofOfZero{};
  /// A scan that cannot prove the pairs that it has collected keeps them all the same.
  static inline Flag kKeepUnproven{};
};

}  // namespace latchlab::art
