#pragma once
// One call of a recorded history: an operation on one key with its answer, and when it was called and returned.
//
// A compare-and-swap is an update with `was` if it succeeded, and a find of what it met if it did not. Any other
// read-modify-write is an insert, an update or an erase with `was`, or a find if it changed nothing.
#include <optional>
#include <string>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class CallKind : u8 { kFind, kInsert, kUpdate, kUpsert, kErase };
template <>
inline constexpr std::array kWords<CallKind>{"find"sv, "insert"sv, "update"sv, "upsert"sv, "erase"sv};

inline constexpr u64 kNeverReturned = ~u64{0};

/// One operation on one key, with the answer that its caller got.
struct Call {
  CallKind kind;
  bool yes;    // the answer: found (find), was absent (insert, upsert), was present (update, erase)
  u64 value;   // the value that find returned, or the value to store
  u64 called;  // time by any clock that never goes back: a call that returned before another was called precedes it
  u64 returned;
  u32 caller = 0;
  /// The value that the call found there and replaced, erased or left, if its answer says so. A find has none.
  std::optional<u64> was{};

  /// Returns false if the call was still under way at the end. It has no answer then, and may have taken effect or not.
  bool has_returned() const { return returned != kNeverReturned; }
  /// Returns true if the call stores its value. A call without an answer may.
  bool writes() const {
    return kind == CallKind::kUpsert ||
           ((yes || !has_returned()) && (kind == CallKind::kInsert || kind == CallKind::kUpdate));
  }
  bool changes() const { return writes() || (kind == CallKind::kErase && (yes || !has_returned())); }
  bool finds() const { return kind == CallKind::kFind && yes; }
  /// Returns true if the answer says that the key was present.
  bool was_there() const { return yes == (kind != CallKind::kInsert && kind != CallKind::kUpsert); }

  std::string str() const;
};

}  // namespace latchlab
