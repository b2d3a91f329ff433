#pragma once
// The batching of operations: they reach an index one by one, or several in one call, or one by one after prefetches.
#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// The greatest number of keys in one attempt of a policy: in one hold of a lock or one transaction.
inline constexpr u32 kMostInAttempt = 64;
/// The greatest number of keys in one call of an index, which makes as many attempts as it needs.
inline constexpr u32 kMostInCall = 4 * kMostInAttempt;

/// The order in which a batch is executed.
enum class BatchOrder : u8 {
  kSideBySide,  ///< lookups advance together; changes run one after the other, after prefetches for all of them
  kInTurn,      ///< one after the other
  kRolling,     ///< one after the other, after prefetches for the batches that come next
  kAuto         ///< one by one or rolling, whichever was faster lately
};
template <>
inline constexpr std::array kWords<BatchOrder>{"side-by-side"sv, "in-turn"sv, "rolling"sv, "auto"sv};

struct Batching {
  u32 keys = 1;  ///< keys in a batch, 1 to kMostInAttempt; 1 calls the index's find
  BatchOrder order = BatchOrder::kSideBySide;

  friend bool operator==(const Batching&, const Batching&) = default;
};

}  // namespace latchlab
