#pragma once

// The speed of far memory for the tier, which only copies whole blocks: copies of one thread from and to it, measured
// before the tier begins. A modelled medium is measured by the same copies, with the waits of its model.

#include <optional>

#include "services/rocksdb/block_store.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"

namespace latchlab::tier {

struct CopySpeed {
  double read_ns = 0;     ///< of a copy of 4 KiB from far memory
  double write_ns = 0;    ///< of one to it
  double read_gbps = 0;   ///< GB/s (10^9 bytes) of copies of 64 KiB from it
  double write_gbps = 0;  ///< and to it
};

/// Measures the far memory by blocks in random order in 64 MiB of it, or as much as the limit lets. Takes some ms.
/// Empty if there is no 1 MiB of it.
[[nodiscard]] std::optional<CopySpeed> measure_copies(const MemoryConfig& far, BlockStore::Charge* charge);

}  // namespace latchlab::tier
