#pragma once

// One operation of a workload, as the hot loop reads it. Four fit into a cache line. Everything that can be computed
// before the clock runs has been computed.

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// The kinds of operations. Their numbers are part of the format of traces (trace.h), so a new kind comes last.
enum class OpKind : u8 { kRead, kInsert, kUpdate, kUpsert, kErase, kScan, kRmw, kMultiGet, kModify, kIncrement };

/// The words of the workload mix: and of results. rmw is a lookup and then an update of its key, as in YCSB: other
/// threads may change the key in between. modify reads a value and stores another in one linearizable step; increment
/// stores the value plus one. multi_get looks up several keys in one call.
template <>
inline constexpr std::array kWords<OpKind>{"read"sv, "insert"sv, "update"sv,    "upsert"sv, "erase"sv,
                                           "scan"sv, "rmw"sv,    "multi_get"sv, "modify"sv, "increment"sv};
inline constexpr std::size_t kOpKinds = kWords<OpKind>.size();

/// The properties of an operation's kind.
struct OpTraits {
  bool reads = false;    ///< returns values
  bool inserts = false;  ///< adds an absent key
  bool updates = false;  ///< writes the value of a present key
  bool erases = false;
  bool batches = false;  ///< an index may run several such operations in one call, each with one key

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
    case OpKind::kModify:
    case OpKind::kIncrement: return {.reads = true, .updates = true, .batches = true};
  }
  __builtin_unreachable();
}

struct Op {
  u64 key = 0;        ///< an integer key itself, or the offset of a byte-string key (KeySet::raw makes the view)
  u32 key_bytes = 0;  ///< the length of a byte-string key; 0 for integer keys
  /// kScan: the maximal number of pairs. kMultiGet: the number of keys, which a stream gives as reads (stream.h).
  u16 keys = 0;
  OpKind kind = OpKind::kRead;
  bool absent = false;  ///< a read of a key that no record has, which must not be found

  bool operator==(const Op&) const = default;
};

static_assert(sizeof(Op) == 16, "four operations a cache line");

}  // namespace latchlab
