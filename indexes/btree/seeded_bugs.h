// Bugs of the B+-tree for tests to switch on (sync/seeded_bugs.h explains their use).
#pragma once

namespace latchlab::btree {

template <class Flag>
struct BugFlags {
  /// A split does not lock the parent, into which it stores.
  static inline Flag kDropParent{};
  /// A merge does not lock the right node, which it retires.
  static inline Flag kDropRight{};
  /// A scan that cannot prove the pairs that it has collected keeps them all the same.
  static inline Flag kKeepUnproven{};
  /// A scan takes a leaf in which it finds no key for the end of all.
  static inline Flag kEndAtEmpty{};
};

}  // namespace latchlab::btree
