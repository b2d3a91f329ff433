#pragma once

// One operation of a workload, as the hot loop reads it: four to a cache line, with everything that had to
// be computed computed before the clock runs.

#include <array>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

enum class OpKind : u8 { kRead, kInsert, kUpdate, kUpsert, kErase, kScan, kRmw, kMultiGet };

inline constexpr std::size_t kOpKinds = 8;

/// The words of mix: and of results, in the order of OpKind. rmw: read-modify-write, a lookup and an update of its key;
/// multi_get: lookups of several keys in one call.
inline constexpr std::array<std::string_view, kOpKinds> kOpNames = {"read",  "insert", "update", "upsert",
                                                                    "erase", "scan",   "rmw",    "multi_get"};

[[nodiscard]] constexpr std::string_view word(OpKind kind) {
  return kOpNames[static_cast<std::size_t>(kind)];
}

struct Op {
  u64 key = 0;        ///< an integer key itself; of a byte-string key its offset (KeySet::raw makes the view)
  u32 key_bytes = 0;  ///< the length of a byte-string key; 0 with integer keys
  u16 keys = 0;       ///< of kScan: how many pairs at most; of kMultiGet: how many keys, which a stream gives as reads (stream.h)
  OpKind kind = OpKind::kRead;
  bool absent = false;  ///< a read of a key that is in no record: it must not be found

  bool operator==(const Op&) const = default;
};

static_assert(sizeof(Op) == 16, "four operations a cache line");

}  // namespace latchlab
