#pragma once
// Is what the callers of a map saw possible if every operation took effect at one moment between its call and
// its return?
//
// Operations on different keys do not constrain each other (linearizability is local), so each key is checked
// alone: some order of its calls must respect real time and give every call the answer that it got. A scan
// counts as one find for each key that it covers: found for those it returned, absent for the others. The
// search is exhaustive (Wing and Gong, JPDC 1993; Lowe's memory of configurations), so it is for the few
// dozen calls of a scheduled scenario.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/types.h"

namespace latchlab::testing {

enum class CallKind : u8 { kFind, kInsert, kUpdate, kUpsert, kErase };

/// One operation on one key as its caller saw it.
struct Call {
  CallKind kind;
  bool yes;   // its answer: found, was absent (insert, upsert), was there (update, erase)
  u64 value;   // what find saw, or what was to be stored
  u64 called;   // any clock that never goes back; a call that returned before another was called happened
                // first
  u64 returned;
  u32 caller = 0;   // for messages

  std::string str() const;
};

/// Whether the calls on one key can have happened, starting with `before`. At most 64 calls.
[[nodiscard]] bool linearizable(std::optional<u64> before, std::span<const Call> calls);

/// The calls of a scenario with few keys, numbered from 0. For callers that take turns, as fibers do.
class History {
 public:
  explicit History(std::size_t keys) : before_(keys), calls_(keys) {}

  void starts_with(std::size_t key, u64 value) { before_[key] = value; }
  void starts_absent(std::size_t key) { before_[key].reset(); }
  /// The time of a call or a return.
  u64 now() { return ++clock_; }
  void add(std::size_t key, const Call& call) { calls_[key].push_back(call); }

  /// Empty, or one key's calls that are not linearizable.
  [[nodiscard]] std::string complaint() const;

 private:
  u64 clock_ = 0;
  std::vector<std::optional<u64>> before_;
  std::vector<std::vector<Call>> calls_;
};

}  // namespace latchlab::testing
