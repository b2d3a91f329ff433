#pragma once
// The linearizability checker of one key's history: is there one moment between each call and its return at which the
// operation could have taken effect?
//
// Operations on different keys do not constrain each other (linearizability is local), so each key is checked alone.
// Some order of its calls must respect real time and give every call the answer that it got. A scan counts as one find
// for each key in its range: found for the keys that it returned, absent for the others.
//
// The check is exact for every history, whatever its length. If only one call writes each value, the time is nearly
// linear in the number of calls. It hardly depends on how many overlap (check.cc says why). Values that several calls
// write take longer while many changes of a key are under way, so a caller may limit the work.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"
#include "src/history/call.h"

namespace latchlab {

/// The calls that a conflict is among: those that had not taken effect at a moment when only one state was possible,
/// and those called later. They conflict if the key starts with `before`.
struct Suspects {
  std::optional<u64> before;
  std::vector<u32> calls;  // positions, ascending
};

struct KeyVerdict {
  /// Empty if the calls are linearizable. Else one line: a call that cannot have got its answer, and the calls that
  /// conflict with it.
  std::string conflict;
  u32 impossible = 0;      ///< the position of that call
  Suspects suspects;       ///< filled in if there is a conflict
  bool undecided = false;  ///< the limit was reached before an answer
  u64 tried = 0;           ///< configurations tried, summed over all returns: the amount of work
};

/// A limit of a check's work: how many configurations it tries in all, and how many at one return. Each takes about 100
/// bytes until the next return.
struct Effort {
  u64 in_all = ~u64{0};
  u64 at_once = ~u64{0};
};

/// Checks whether the calls on one key are linearizable, if the key starts with `before`. Gives up at the
/// limit. Throws std::invalid_argument for a call that returns before it is called. There may be
/// 2^31 calls.
[[nodiscard]] KeyVerdict check_calls(std::optional<u64> before, std::span<const Call> calls, const Effort& most = {});
[[nodiscard]] inline bool linearizable(std::optional<u64> before, std::span<const Call> calls) {
  return check_calls(before, calls).conflict.empty();
}

}  // namespace latchlab
