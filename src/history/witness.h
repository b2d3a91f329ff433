#pragma once
// A witness: few calls of a history that no order explains, for people to look at.
//
// Four witnesses are about one value that only one call writes:
//
//   A. A call finds a value that no call writes.
//   B. A call that finds the value returns before the call that writes it begins.
//   C. The value is known, then a change begins and returns, and then a call finds the value again.
//   D. Two changes say that they replaced the value.
//
// Without them, calls are left out in steps that keep this invariant: if the rest could be ordered, so could the whole.
//
//   1. The end is cut off at a time. A call that is under way then counts as one that never returned.
//   2. The beginning is cut off at a moment when only one state is possible. The key begins with that state.
//   3. A call that changes nothing is left out.
//   4. A write over a present key is left out with all finds of its value, if no other call writes the value. A call
//      that says it replaced the value does not say so any more.
//
// The end is the first at which there is a conflict. After that, no single step of kinds 3 and 4 leaves a conflict.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/history/call.h"

namespace latchlab {

struct Witness {
  std::optional<u64> before;  ///< the value that the key holds before these calls; none if it is absent
  std::vector<Call> calls;    ///< in the order in which they were called
  std::string conflict;       ///< one line: why they have no order

  /// Returns one line for each call, with its interval drawn to a scale of ranks: times between two events are as long
  /// as others. An interval that never ends has an arrow.
  [[nodiscard]] std::string drawing() const;
};

/// Returns a witness of one of the kinds A to D, if there is one; then the calls on this key are not linearizable.
/// O(calls log calls).
[[nodiscard]] std::optional<Witness> find_value_witness(std::optional<u64> before, std::span<const Call> calls);

/// Returns a witness of calls on one key that are not linearizable. The work is a few checks of the whole, and at most
/// some seconds more.
[[nodiscard]] Witness find_witness(std::optional<u64> before, std::span<const Call> calls);

}  // namespace latchlab
