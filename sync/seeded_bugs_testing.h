#pragma once
// Each bug of sync/seeded_bugs.h alone, for tests that must find it.
#include "sync/seeded_bugs.h"

namespace latchlab::testing {

struct DropSubscription : NoBugs {
  static constexpr bool kDropSubscription = true;
};
struct DropFallbackLock : NoBugs {
  static constexpr bool kDropFallbackLock = true;
};
struct CountInside : NoBugs {
  static constexpr bool kCountInside = true;
};
struct DropGracePeriod : NoBugs {
  static constexpr bool kDropGracePeriod = true;
};
struct DropValidation : NoBugs {
  static constexpr bool kDropValidation = true;
};
struct DropLink : NoBugs {
  static constexpr bool kDropLink = true;
};
struct DropUpgrade : NoBugs {
  static constexpr bool kDropUpgrade = true;
};
struct DropUnlock : NoBugs {
  static constexpr bool kDropUnlockAfterFailedUpgrade = true;
};
struct DropChange : NoBugs {
  static constexpr bool kDropChange = true;
};
struct ChildAfterIndex : NoBugs {
  static constexpr bool kChildAfterIndex = true;
};
struct BitBeforeSlot : NoBugs {
  static constexpr bool kBitBeforeSlot = true;
};
struct DropProofOfZero : NoBugs {
  static constexpr bool kDropProofOfZero = true;
};

}  // namespace latchlab::testing
