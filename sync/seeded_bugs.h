// Bugs on request, so that the race finder and the histories of real threads can prove that they find them.
//
// A test that has never failed guards nothing. Every protocol step whose loss would be a silent race has a
// flag: one of sync's own here, one of an index in the seeded_bugs.h of its folder. Policies and transactions take the
// type with the flags here as their last template parameter, NoBugs by default. An index finds it in its Layout, and
// its own flags are of the same kind: BugFlags<typename Layout::Bugs::Flag>. The step is left out under `if
// (Bugs::kDropX)`. Tests use flags that they can turn on (seeded_bugs_testing.h).
//
// The race finder finds every one of them: race_seeded_test.cc and race_line_test.cc of the indexes,
// elision_race_test.cc of the policies. "On threads" says that indexes/seeded_threads_test.cc finds it too, and where.
// Without these words it does not: there are no transactions on every processor, or the bug stops all threads, or what
// it breaks is some instructions wide.
//
// Product code compiles to what it would be without the parameter.
#pragma once

#include <type_traits>

namespace latchlab {

/// `FlagType`: whether a bug is there, known when compiling or while running.
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
  /// olc, rowex: what an operation retires is freed at once.
  /// On threads: in trees. In tables nothing soon reads what was freed, or writes it.
  static inline Flag kDropGracePeriod{};

  // Transactions with versions.
  /// step_to, follow and confirm go on without validating.
  /// On threads: olc, every index.
  static inline Flag kDropValidation{};
  /// enter_by goes on without asking its link.
  /// On threads.
  static inline Flag kDropLink{};
  /// upgrade says yes and locks nothing; of hybrid, and changes versions that are not what was read.
  /// On threads: olc, every index, and rowex.
  static inline Flag kDropUpgrade{};
  /// An upgrade that fails half way keeps what it has locked.
  static inline Flag kDropUnlockAfterFailedUpgrade{};
  /// hybrid: a transaction leaves the versions of what it changes as they are.
  static inline Flag kDropChange{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace latchlab
