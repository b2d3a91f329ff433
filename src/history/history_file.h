#pragma once
// A recorded history as a file: calls on the keys of a map, for the checker.
//
//     | "latchhis" | version u32 | 0 u32 | calls u64 | sum u64 |     the header
//     | sum u64 | up to 4096 records |                               a block; all but the last are full
//
// A record has 48 bytes:
//
//     | key u64 | value u64 | was u64 | called u64 | returned u64 | thread u32 | kind u8 | flags u8 | 0 u16 |
//
//   - Numbers are little-endian.
//   - `called` and `returned` are times by any clock that all threads share and that never goes back.
//   - `returned` is 2^64 - 1 for a call that was still under way at the end. It has no answer.
//   - Flag 1 is the answer yes; flag 2 says that `was` counts. Numbers that do not count are 0.
//   - A sum is a hash of other bytes: of the header's first 24 bytes, before it, or of the block's records, behind it.
//
// Every key is absent at first. So a key that the run began with has an insert of its own, which returned before.
// Records come in any order.
#include <cstddef>
#include <string>
#include <vector>

#include "src/base/new_file.h"
#include "src/base/types.h"
#include "src/history/call.h"

namespace latchlab {

struct KeyedCall {
  u64 key;
  Call call;
};

/// Writes a history. The file appears as a whole or not at all.
class HistoryWriter {
 public:
  /// Throws InputError, "history file 'PATH': why", if nothing can be written there, or if a file is there that is
  /// neither empty nor begins as a history does.
  explicit HistoryWriter(const std::string& path, u64 calls);
  void add(u64 key, const Call& call);
  /// Puts the file in its place after the last call. Throws OutputError if any of it could not be written.
  void keep();

 private:
  void write_block();

  NewFile file_;
  u64 left_;  // calls that were announced and have not been added
  std::string block_;
};

/// Reads a history. Throws InputError, "history file 'PATH': what is wrong, and where", if the file
///   - is missing, unreadable or of another kind or version,
///   - is shorter or longer than its header says, or differs from a sum,
///   - has a record that no call makes.
/// O(calls); 64 bytes of memory for each.
[[nodiscard]] std::vector<KeyedCall> read_history(const std::string& path);

}  // namespace latchlab
