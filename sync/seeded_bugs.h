// Seeded bugs, by which the race finder and the histories of real threads prove that they find bugs.
//
// A test that has never failed guards nothing. Every protocol step whose loss would be a silent race has a flag. The
// flags of sync are here; those of an index are in the seeded_bugs.h of its folder. Policies and transactions take the
// type with the flags as their last template parameter, NoBugs by default. An index finds it in its Layout, and
// declares its own flags likewise: BugFlags<typename Layout::Bugs::Flag>. The step is left out under `if
// (Bugs::kDropX)`. Tests use flags that they can turn on (seeded_bugs_testing.h).
//
// The race finder finds every one of them: race_seeded_test.cc and race_line_test.cc those of the indexes,
// elision_race_test.cc those of the policies. "On threads" says that indexes/seeded_threads_test.cc finds a bug too,
// and in which indexes. Without these words it does not find the bug, for one of these reasons:
//   - it needs transactions, which not every processor has;
//   - the bug stops all threads;
//   - the window of the bug is only a few instructions wide.
//
// Product code compiles to the same instructions as without the parameter.
#pragma once

#include <type_traits>

namespace latchlab {

/// The flags of all bugs. `FlagType` is std::false_type (no bug, known at compile time) or bool (set at run time).
template <class FlagType>
struct BugFlags {
  using Flag = FlagType;

  // Policies.
  /// rtm: a transaction does not read the lock word.
  static inline Flag kDropSubscription{};
  /// rtm: the fallback runs its body without the lock.
  static inline Flag kDropFallbackLock{};
  /// rtm: `begins` is counted inside the transaction.
  static inline Flag kCountInside{};
  /// olc, rowex: the blocks that an operation retires are freed at once.
  /// On threads: in trees. In tables no thread reads or writes the freed block soon enough.
  static inline Flag kDropGracePeriod{};

  // Transactions with versions.
  /// step_to, follow and confirm go on without validating.
  /// On threads: olc, every index.
  static inline Flag kDropValidation{};
  /// enter_by goes on without checking its link.
  /// On threads.
  static inline Flag kDropLink{};
  /// upgrade returns true and locks nothing; in hybrid it changes versions without comparing them.
  /// On threads: olc, every index, and rowex.
  static inline Flag kDropUpgrade{};
  /// upgrade_value returns true and does not latch the word.
  static inline Flag kDropUpdateLatch{};
  /// An upgrade that fails half way keeps what it has locked.
  static inline Flag kDropUnlockAfterFailedUpgrade{};
  /// hybrid: a transaction does not change the versions of the nodes that it changes.
  static inline Flag kDropChange{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace latchlab
