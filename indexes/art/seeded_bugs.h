// Bugs of art on request (sync/seeded_bugs.h says what they are for).
#pragma once

namespace latchlab::art {

template <class Flag>
struct BugFlags {
  /// A node publishes the index of a child before the child.
  static inline Flag kChildAfterIndex{};
  /// Whoever erases a value from a Node256 clears its present bit before its slot.
  static inline Flag kBitBeforeSlot{};
  /// A reader without a latch takes a slot and a present bit of two moments for the value 0.
  static inline Flag kDropProofOfZero{};
};

}  // namespace latchlab::art
