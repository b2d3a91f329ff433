#pragma once
// Seeded bugs that tests turn on and must find.
#include "sync/seeded_bugs.h"

namespace latchlab::testing {

/// The flags as variables, so that one instantiation serves the tests of all bugs.
using BugsOnRequest = BugFlags<bool>;

/// A scope in which one bug is turned on.
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
