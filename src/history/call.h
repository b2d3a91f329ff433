#pragma once
// One call of a recorded history: an operation on one key with its answer, and when it was called and returned.
#include <string>

#include "src/base/types.h"

namespace latchlab {

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

}  // namespace latchlab
