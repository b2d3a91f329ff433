#pragma once
// Is what the callers of a map saw possible if every operation took effect at one moment between its call and
// its return?
//
// Operations on different keys do not constrain each other (linearizability is local), so each key is checked
// alone: some order of its calls must respect real time and give every call the answer that it got. A scan
// counts as one find for each key that it covers: found for those it returned, absent for the others.
//
// The check is exact for every history and has no limit. Where every value is written by one call only, the time is
// nearly linear in the calls and hardly depends on how many of them overlap (history.cc says why). Values that several
// calls write take longer where many changes of a key are under way at once.
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

/// One operation on one key as its caller saw it.
struct Call {
  CallKind kind;
  bool yes;    // its answer: found, was absent (insert, upsert), was there (update, erase)
  u64 value;   // what find saw, or what was to be stored
  u64 called;  // any clock that never goes back; a call that returned before another was called happened
               // first
  u64 returned;
  u32 caller = 0;

  std::string str() const;
};

struct Verdict {
  /// Empty if the calls can have happened. Else one line: a call that cannot have got its answer, and the calls in its
  /// way.
  std::string conflict;
  u64 tried = 0;  ///< ways in which things may have stood, summed over all returns: the work
};

/// Whether the calls on one key can have happened, starting with `before`.
[[nodiscard]] Verdict check_calls(std::optional<u64> before, std::span<const Call> calls);
[[nodiscard]] inline bool linearizable(std::optional<u64> before, std::span<const Call> calls) {
  return check_calls(before, calls).conflict.empty();
}

/// The calls of a scenario with few keys, numbered from 0. Callers have numbers from 0 too and may be threads: each
/// adds its own calls.
class History {
 public:
  History(std::size_t keys, u32 callers) : before_(keys), calls_of_(callers) {}

  void starts_with(std::size_t key, u64 value) { before_[key] = value; }
  void starts_absent(std::size_t key) { before_[key].reset(); }
  /// The time of a call or a return. A full fence, which pairs with itself: calls that begin after a return see what
  /// the returned call did.
  u64 now() { return clock_.fetch_add(1, kSeqCst) + 1; }
  void add(std::size_t key, const Call& call) { calls_of_[call.caller].emplace_back(key, call); }

  /// Empty, or what is wrong with one key's calls. While nobody adds any.
  [[nodiscard]] std::string complaint() const;
  [[nodiscard]] std::size_t size() const;

 private:
  std::atomic<u64> clock_{0};
  std::vector<std::optional<u64>> before_;
  std::vector<std::vector<std::pair<std::size_t, Call>>> calls_of_;
};

}  // namespace latchlab::testing
