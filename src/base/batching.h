#pragma once
// How lookups, and updates, come to an index: one by one, or several in one call.
#include "src/base/types.h"

namespace latchlab {

/// Keys that are one attempt of a policy: one hold of a lock, one transaction.
inline constexpr u32 kMostInAttempt = 64;

/// How the keys of a batch are looked up: all together, or one after the other (as updates always are).
enum class BatchOrder : u8 { kSideBySide, kInTurn };

struct Batching {
  u32 keys = 1;   ///< a call, 1 to kMostInAttempt; 1: the index's find
  BatchOrder order = BatchOrder::kSideBySide;

  friend bool operator==(const Batching&, const Batching&) = default;
};

}  // namespace latchlab
