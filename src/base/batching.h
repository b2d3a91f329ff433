#pragma once
// The batching of operations: lookups, inserts, updates and erasures reach an index one by one or several in one call.
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// The greatest number of keys in one attempt of a policy: in one hold of a lock or one transaction.
inline constexpr u32 kMostInAttempt = 64;

/// The order in which a batch is executed. Lookups run side by side or one after the other. Changes always run one
/// after the other; side by side then means that their first lines are prefetched together beforehand.
enum class BatchOrder : u8 { kSideBySide, kInTurn };
template <>
inline constexpr std::array kWords<BatchOrder>{"side-by-side"sv, "in-turn"sv};

struct Batching {
  u32 keys = 1;  ///< keys in a call, 1 to kMostInAttempt; 1 calls the index's find
  BatchOrder order = BatchOrder::kSideBySide;

  friend bool operator==(const Batching&, const Batching&) = default;
};

}  // namespace latchlab
