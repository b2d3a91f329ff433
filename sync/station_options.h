#pragma once
// The options of a reservation station (sync/station.h).
#include <array>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// How the operations of a batch meet.
enum class StationMode : u8 {
  kOff,    ///< not at all: the caller runs each by itself
  kStall,  ///< an operation on a key with one under way waits until that is done, and so do those behind it
  kOn,
  kAuto  ///< kOn while many operations of recent batches had the key of another, else kOff
};

/// When an operation is answered.
enum class StationOrder : u8 {
  kRequest,    ///< all in the order of the batch, after the last chain
  kCompletion  ///< each after its own chain
};

struct StationOptions {
  StationMode mode = StationMode::kOff;
  StationOrder order = StationOrder::kRequest;

  friend bool operator==(const StationOptions&, const StationOptions&) = default;
};

}  // namespace latchlab

template <>
inline constexpr std::array latchlab::kWords<latchlab::StationMode>{"off"sv, "stall"sv, "on"sv, "auto"sv};
template <>
inline constexpr std::array latchlab::kWords<latchlab::StationOrder>{"request"sv, "completion"sv};
