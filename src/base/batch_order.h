#pragma once
#include "src/base/types.h"

namespace latchlab {

/// How the keys of a batch are looked up: all together, or one after the other.
enum class BatchOrder : u8 { kSideBySide, kInTurn };

}  // namespace latchlab
