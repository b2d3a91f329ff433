#pragma once
// Bugs for tests that must find them.
#include "sync/seeded_bugs.h"

namespace latchlab::testing {

/// The bugs of NoBugs, each for as long as a test wants it: what has them as its parameter is compiled once for all of them.
struct BugsOnRequest {
  static inline bool kDropSubscription = false;
  static inline bool kDropFallbackLock = false;
  static inline bool kCountInside = false;
  static inline bool kDropGracePeriod = false;
  static inline bool kDropValidation = false;
  static inline bool kDropLink = false;
  static inline bool kDropUpgrade = false;
  static inline bool kDropUnlockAfterFailedUpgrade = false;
  static inline bool kDropChange = false;
  static inline bool kChildAfterIndex = false;
  static inline bool kBitBeforeSlot = false;
  static inline bool kDropProofOfZero = false;
};

/// One of them, while this lives.
class Seeded {
 public:
  explicit Seeded(bool& bug) : bug_(bug) { bug_ = true; }
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;
  ~Seeded() { bug_ = false; }

 private:
  bool& bug_;
};

}  // namespace latchlab::testing
