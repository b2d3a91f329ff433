#pragma once
// How lookups, inserts, updates or erasures come to an index: one by one, or several in one call.
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// Keys that are one attempt of a policy: one hold of a lock, one transaction.
inline constexpr u32 kMostInAttempt = 64;

/// How the keys of a batch are looked up: all together, or one after the other. What changes the index is always done
/// one after the other; side by side means that the lines where its keys begin are asked for together beforehand.
enum class BatchOrder : u8 { kSideBySide, kInTurn };
template <>
inline constexpr std::array kWords<BatchOrder>{"side-by-side"sv, "in-turn"sv};

struct Batching {
  u32 keys = 1;  ///< a call, 1 to kMostInAttempt; 1: the index's find
  BatchOrder order = BatchOrder::kSideBySide;

  friend bool operator==(const Batching&, const Batching&) = default;
};

}  // namespace latchlab
