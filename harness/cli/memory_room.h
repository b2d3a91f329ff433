#pragma once

// The memory that a run takes: what the machine has room for, and where it goes.

#include <string_view>

#include "harness/config/config.h"
#include "harness/config/plan.h"
#include "harness/host/topology.h"
#include "src/base/spec.h"
#include "src/base/types.h"

namespace latchlab {

/// Returns the fewest bytes that a key and its value take: eight each. A key that its path in the index spells takes
/// none. More records than memory holds at this size are surely a mistake; fewer are up to the index.
[[nodiscard]] u64 least_bytes_per_key(const Spec& keys);

/// Returns the default of --records.
[[nodiscard]] u64 default_records(const Config& config, u64 memory_available);

/// Throws NoRoom if sized values and their keys take more memory than is available.
void check_room_for_values(const Config& config, u64 memory_available);

/// Throws NoRoom if two memories of values have no room for as many values as `option` asks for.
void check_room_in_two_memories(const Config& config, std::string_view option);

/// Throws NoRoom if recorded calls take more memory than is available.
void check_room_for_history(const Config& config, u64 memory_available);

/// Throws NoRoom if a memory of values is larger than what this machine has for it, or lies on a node that is not
/// there.
void check_media(const Config& config, const Topology& topology, u64 memory_available);

/// Fills in the placement that --mem asks for, or the reason why there is none. Throws InputError for a node that does
/// not exist.
void place_memory(Plan& plan, const Topology& topology);

}  // namespace latchlab
