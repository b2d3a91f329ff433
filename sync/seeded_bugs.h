// Bugs on request, so that the race finder can prove that it finds them.
//
// A test that has never failed guards nothing. Every protocol step whose loss would be a silent race has a
// flag here; policies and transactions take a type with these constants as their last template parameter,
// NoBugs by default, indexes find it in their Layout, and the step is left out under `if (Bugs::kDropX)`. Tests use a type
// whose flags they can turn on (seeded_bugs_testing.h).
//
// Product code compiles to what it would be without the parameter.
#pragma once

namespace latchlab {

struct NoBugs {
  // Policies.
  /// rtm: a transaction does not read the lock word.
  static constexpr bool kDropSubscription = false;
  /// rtm: the fallback runs its body without the lock.
  static constexpr bool kDropFallbackLock = false;
  /// rtm: `begins` is counted inside the transaction.
  static constexpr bool kCountInside = false;
  /// olc, rowex: what an operation retires is freed at once.
  static constexpr bool kDropGracePeriod = false;

  // Transactions with versions.
  /// step_to, follow and confirm go on without validating.
  static constexpr bool kDropValidation = false;
  /// begin goes on without asking its link.
  static constexpr bool kDropLink = false;
  /// upgrade says yes and locks nothing; of hybrid, and changes versions that are not what was read.
  static constexpr bool kDropUpgrade = false;
  /// An upgrade that fails half way keeps what it has locked.
  static constexpr bool kDropUnlockAfterFailedUpgrade = false;

  /// hybrid: a transaction leaves the versions of what it changes as they are.
  static constexpr bool kDropChange = false;

  // Indexes.
  /// art: a node publishes the index of a child before the child.
  static constexpr bool kChildAfterIndex = false;
  /// art: who erases a value from a Node256 clears its present bit before its slot.
  static constexpr bool kBitBeforeSlot = false;
  /// art: a reader without a latch takes a slot and a present bit of two moments for the value 0.
  static constexpr bool kDropProofOfZero = false;
};

}  // namespace latchlab
