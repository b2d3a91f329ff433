#pragma once

// One operation of a workload, as the hot loop reads it: four to a cache line, with everything that had to
// be computed computed before the clock runs.

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

enum class OpKind : u8 { kRead, kInsert, kUpdate, kUpsert, kErase, kScan, kRmw, kMultiGet };

/// The words of mix: and of results. rmw: read-modify-write, a lookup and an update of its key; multi_get: lookups of
/// several keys in one call.
template <>
inline constexpr std::array kWords<OpKind>{"read"sv,  "insert"sv, "update"sv, "upsert"sv,
                                           "erase"sv, "scan"sv,   "rmw"sv,    "multi_get"sv};
inline constexpr std::size_t kOpKinds = kWords<OpKind>.size();

/// What an operation of a kind does.
struct OpTraits {
  bool reads = false;    ///< comes back with values
  bool inserts = false;  ///< adds a key that is not there
  bool updates = false;  ///< writes the value of a key that is there
  bool erases = false;
  bool batches = false;  ///< does one of these with one key: an index may do several such operations in one call

  [[nodiscard]] constexpr bool writes() const { return inserts || updates; }  ///< a value
  [[nodiscard]] constexpr bool changes() const { return writes() || erases; }
};
[[nodiscard]] constexpr OpTraits about(OpKind kind) {
  switch (kind) {
    case OpKind::kRead: return {.reads = true, .batches = true};
    case OpKind::kInsert: return {.inserts = true, .batches = true};
    case OpKind::kUpdate: return {.updates = true, .batches = true};
    case OpKind::kUpsert: return {.inserts = true, .updates = true};
    case OpKind::kErase: return {.erases = true, .batches = true};
    case OpKind::kScan: return {.reads = true};
    case OpKind::kRmw: return {.reads = true, .updates = true};
    case OpKind::kMultiGet: return {.reads = true};
  }
  __builtin_unreachable();
}

struct Op {
  u64 key = 0;        ///< an integer key itself; of a byte-string key its offset (KeySet::raw makes the view)
  u32 key_bytes = 0;  ///< the length of a byte-string key; 0 with integer keys
  /// Of kScan: how many pairs at most; of kMultiGet: how many keys, which a stream gives as reads (stream.h).
  u16 keys = 0;
  OpKind kind = OpKind::kRead;
  bool absent = false;  ///< a read of a key that is in no record: it must not be found

  bool operator==(const Op&) const = default;
};

static_assert(sizeof(Op) == 16, "four operations a cache line");

}  // namespace latchlab
