#pragma once
// Runs operations with memory that ends at their n-th allocation, for every n.
#include <functional>
#include <new>

#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"

namespace latchlab::testing {

/// The index that an operation is tried on.
struct Starving {
  FailurePlan& plan;
  std::function<u64()> live;        ///< the bytes that a refused operation must give back
  std::function<bool()> unchanged;  ///< returns true if the contents are those before the operation
  u64 reclaimers = 1;               ///< the number of reclaimers, each of which may keep a record
};

/// Runs `operation` with allocation n failing, for n = 1, 2, ... until it throws no std::bad_alloc. It must then return
/// true. Every refused one must leave the contents and the live bytes as they were. Returns the number of tries in
/// which an allocation failed. An operation survives one failure if memory that waits to be freed is enough.
///
/// A refused operation may take a record for blocks that wait to be freed, and keep it (Epochs::ThreadState::reserve).
/// With such a record the same operation takes none, but it would leak again. So it is tried again with the same n,
/// once for each reclaimer.
template <class Operation>
u64 starve_until_done(const Starving& index, FailurePlan::Then then, const Operation& operation) {
  u64 struck = 0, grown = 0;
  for (u64 n = 1;;) {
    REQUIRE(n < 100);
    const u64 live = index.live();
    index.plan.arm(n, then);
    bool answer = false, threw = false;
    try {
      answer = operation();
    } catch (const std::bad_alloc&) {
      threw = true;
    }
    struck += index.plan.seen() >= n;
    index.plan.disarm();
    if (!threw) {
      if (!answer) FAIL("the operation returned the wrong answer when allocation " << n << " failed");
      return struck;
    }
    if (!index.unchanged()) FAIL("allocation " << n << " failed: the contents changed");
    const u64 now = index.live();
    grown = now > live ? grown + 1 : 0;
    if (grown > index.reclaimers)
      FAIL("allocation " << n << " failed: the operation leaked " << now - live << " bytes");
    if (grown == 0) ++n;
  }
}

}  // namespace latchlab::testing
