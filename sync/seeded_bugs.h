// Bugs on request, so that the race finder and the histories of real threads can prove that they find them.
//
// A test that has never failed guards nothing. Every protocol step whose loss would be a silent race has a
// flag here; policies and transactions take a type with these flags as their last template parameter,
// NoBugs by default, indexes find it in their Layout, and the step is left out under `if (Bugs::kDropX)`. Tests use flags
// that they can turn on (seeded_bugs_testing.h).
//
// The race finder finds every one of them: race_seeded_test.cc and race_line_test.cc of the indexes, elision_race_test.cc of the
// policies. "On threads" says that indexes/seeded_threads_test.cc finds it too, and where. Without these words it does not: there are
// no transactions on every processor, or the bug stops all threads, or what it breaks is some instructions wide.
//
// Product code compiles to what it would be without the parameter.
#pragma once

#include <type_traits>

namespace latchlab {

/// `Flag`: whether a bug is there, known when compiling or while running.
template <class Flag>
struct BugFlags {
  // Policies.
  /// rtm: a transaction does not read the lock word.
  static inline Flag kDropSubscription{};
  /// rtm: the fallback runs its body without the lock.
  static inline Flag kDropFallbackLock{};
  /// rtm: `begins` is counted inside the transaction.
  static inline Flag kCountInside{};
  /// olc, rowex: what an operation retires is freed at once.
  /// On threads: art. In tables nothing soon reads what was freed, or writes it.
  static inline Flag kDropGracePeriod{};

  // Transactions with versions.
  /// step_to, follow and confirm go on without validating.
  /// On threads: olc, every index.
  static inline Flag kDropValidation{};
  /// begin goes on without asking its link.
  /// On threads: art.
  static inline Flag kDropLink{};
  /// upgrade says yes and locks nothing; of hybrid, and changes versions that are not what was read.
  /// On threads: olc, every index, and rowex.
  static inline Flag kDropUpgrade{};
  /// An upgrade that fails half way keeps what it has locked.
  static inline Flag kDropUnlockAfterFailedUpgrade{};

  /// hybrid: a transaction leaves the versions of what it changes as they are.
  static inline Flag kDropChange{};

  // Indexes.
  /// art: a node publishes the index of a child before the child.
  static inline Flag kChildAfterIndex{};
  /// art: who erases a value from a Node256 clears its present bit before its slot.
  static inline Flag kBitBeforeSlot{};
  /// art: a reader without a latch takes a slot and a present bit of two moments for the value 0.
  static inline Flag kDropProofOfZero{};
  /// chained: a reader without a latch takes a miss beside a split for the truth.
  /// On threads.
  static inline Flag kTrustMiss{};
  /// vip: a key that moves is unlinked before its copy is linked.
  static inline Flag kUnlinkFirst{};
  /// cuckoo: a key that leaves its primary bucket is not marked there.
  /// On threads.
  static inline Flag kDropMark{};
  /// cuckoo: who settles a bucket does not mark again what he leaves there.
  /// On threads.
  static inline Flag kForgetStrays{};
  /// cuckoo: buckets are settled while others may still have to be split.
  /// On threads.
  static inline Flag kSettleEarly{};
  /// cuckoo: a path is taken without a look whether its keys are still where they were.
  /// On threads.
  static inline Flag kTrustPath{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace latchlab
