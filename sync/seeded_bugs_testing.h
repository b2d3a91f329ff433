#pragma once
// Bugs for tests that must find them.
#include "sync/seeded_bugs.h"

namespace latchlab::testing {

/// Each for as long as a test wants it: what has them as its parameter is compiled once for all of them.
using BugsOnRequest = BugFlags<bool>;

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
