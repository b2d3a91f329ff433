// Seeded bugs, by which the race finder and the histories of real threads prove that they find bugs.
//
// A test that has never failed guards nothing. Every protocol step whose loss would be a silent race has a flag.
// docs/seeded_bugs.md has the table of them: by which tests they are found, after how many schedules or histories.
//
// The flags of sync are here, those of an index in the seeded_bugs.h of its folder, those of reclamation in
// src/reclaim/seeded_bugs.h. Policies and transactions take the type with the flags as their last template parameter,
// NoBugs by default. An index finds it in its Layout, and declares its own flags likewise: BugFlags<typename
// Layout::Bugs::Flag>. The step is left out under `if (Bugs::kDropX)`. Tests use flags that they can turn on
// (seeded_bugs_testing.h).
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
  /// rtm: a transaction does not read the lock word; three-path: a fast one does not read the count of slow operations.
  static inline Flag kDropSubscription{};
  /// rtm: the fallback runs its body without the lock.
  static inline Flag kDropFallbackLock{};
  /// rtm: `begins` is counted inside the transaction.
  static inline Flag kCountInside{};
  /// olc, rowex: the blocks that an operation retires are freed at once.
  static inline Flag kDropGracePeriod{};

  // Transactions with versions.
  /// step_to, follow and confirm go on without validating.
  static inline Flag kDropValidation{};
  /// enter_by goes on without checking its link.
  static inline Flag kDropLink{};
  /// claim goes on without validating the parent.
  static inline Flag kTrustClaim{};
  /// ticket-olc: a claim that is given up puts its ticket back, although others may have drawn later ones.
  static inline Flag kPutBack{};
  /// optiql: a thread whose turn has come leaves the latch open to readers.
  static inline Flag kStayOpen{};
  /// latch-hybrid: an attempt that ends keeps the latches that it shares.
  static inline Flag kKeepShares{};
  /// optiql: try_lock locks from a word that was read while the latch was open.
  static inline Flag kLockOpen{};
  /// upgrade returns true and locks nothing; in hybrid it changes versions without comparing them.
  static inline Flag kDropUpgrade{};
  /// upgrade_value returns true and does not latch the word.
  static inline Flag kDropUpdateLatch{};
  /// An upgrade that fails half way keeps what it has locked.
  static inline Flag kDropUnlockAfterFailedUpgrade{};
  /// hybrid, three-path: a transaction does not change the versions of the nodes that it changes.
  static inline Flag kDropChange{};
  /// three-path: a middle transaction goes on at a latched node.
  static inline Flag kPassLatches{};
  /// three-path: an operation on the slow path does not count itself.
  static inline Flag kDropSlowCount{};
};

using NoBugs = BugFlags<std::false_type>;

}  // namespace latchlab
