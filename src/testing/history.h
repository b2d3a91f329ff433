#pragma once
// The linearizability checker of a map's histories: is there one moment between each call and its return at which the
// operation could have taken effect?
//
// Operations on different keys do not constrain each other (linearizability is local), so each key is checked alone.
// Some order of its calls must respect real time and give every call the answer that it got. A scan counts as one find
// for each key in its range: found for the keys that it returned, absent for the others.
//
// The check is exact for every history, whatever its length. If only one call writes each value, the time is nearly
// linear in the number of calls. It hardly depends on how many overlap (history.cc says why). Values that several calls
// write take longer while many changes of a key are under way.
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/types.h"

namespace latchlab::testing {

enum class CallKind : u8 { kFind, kInsert, kUpdate, kUpsert, kErase };

/// One operation on one key, with the answer that its caller got.
struct Call {
  CallKind kind;
  bool yes;    // the answer: found (find), was absent (insert, upsert), was present (update, erase)
  u64 value;   // the value that find returned, or the value to store
  u64 called;  // time by any clock that never goes back: a call that returned before another was called precedes it
  u64 returned;
  u32 caller = 0;

  std::string str() const;
};

struct Verdict {
  /// Empty if the calls are linearizable. Else one line: a call that cannot have got its answer, and the calls that
  /// conflict with it.
  std::string conflict;
  u64 tried = 0;  ///< configurations tried, summed over all returns: the amount of work
};

/// Checks whether the calls on one key are linearizable, if the key starts with `before`.
[[nodiscard]] Verdict check_calls(std::optional<u64> before, std::span<const Call> calls);
[[nodiscard]] inline bool linearizable(std::optional<u64> before, std::span<const Call> calls) {
  return check_calls(before, calls).conflict.empty();
}

/// The history of a scenario with few keys, numbered from 0. Callers are numbered from 0 too. They may be threads: each
/// adds its own calls.
class History {
 public:
  History(std::size_t keys, u32 callers) : before_(keys), calls_of_(callers) {}

  void starts_with(std::size_t key, u64 value) { before_[key] = value; }
  void starts_absent(std::size_t key) { before_[key].reset(); }
  /// Returns the time of a call or a return. It is a full fence and pairs with itself, so a call that begins after a
  /// return sees the effects of the returned call.
  u64 now() { return clock_.fetch_add(1, kSeqCst) + 1; }
  void add(std::size_t key, const Call& call) { calls_of_[call.caller].emplace_back(key, call); }

  /// Returns "", or the conflict among one key's calls. Must not be called while a caller adds calls.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] std::size_t size() const;

 private:
  std::atomic<u64> clock_{0};
  std::vector<std::optional<u64>> before_;
  std::vector<std::vector<std::pair<std::size_t, Call>>> calls_of_;
};

}  // namespace latchlab::testing
