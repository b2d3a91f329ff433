#pragma once
// The dear half of an asymmetric pair of fences: it makes every processor that runs a thread of this process execute
// a full memory fence, so that the other half need only hold the compiler. Dice, Huang, Yang, "Asymmetric Dekker
// synchronization" (2001).

#include "src/base/words.h"

namespace latchlab {

/// What fence_all_processors() does on this system.
enum class HeavyFence {
  kMembarrier,  ///< one system call
  kVisits,      ///< it goes to each processor in turn: membarrier is forbidden or unknown
  kNone         ///< setting the affinity is forbidden as well: it would end the process
};
template <>
inline constexpr std::array kWords<HeavyFence>{"membarrier"sv, "visits"sv, "none"sv};

[[nodiscard]] HeavyFence heavy_fence_here();

/// Returns when each processor that may run a thread of this process has run a full fence since the call. By
/// membarrier(2) (Linux 4.14 and later), or where a container forbids that, by visits. With membarrier, on a virtual
/// machine with two processors, about 0.2 us, and 2 us where another thread of the process computes.
void fence_all_processors();

/// The same by going to each processor in turn: whoever ran there was switched out, and a switch is a full fence. The
/// caller's affinity is as before. On the same machine about 50 us a processor that is idle, and where another thread
/// computes, that thread's time slice: about 4 ms. A system that forbids setting the affinity, too, ends the process.
void fence_by_visits();

}  // namespace latchlab
