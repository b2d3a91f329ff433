#pragma once
// The expensive half of an asymmetric pair of fences. It makes every processor that runs a thread of this process
// execute a full memory fence. So the cheap half need only be a compiler fence. Dice, Huang, Yang, "Asymmetric Dekker
// synchronization" (2001).

#include "src/base/words.h"

namespace latchlab {

/// The way in which fence_all_processors() works on this system.
enum class HeavyFence {
  kMembarrier,  ///< one system call
  kVisits,      ///< the caller visits each processor in turn: membarrier is forbidden or unknown
  kNone         ///< setting the affinity is forbidden as well: a fence would end the process
};
template <>
inline constexpr std::array kWords<HeavyFence>{"membarrier"sv, "visits"sv, "none"sv};

[[nodiscard]] HeavyFence heavy_fence_here();

/// Returns when each processor that may run a thread of this process has run a full fence since the call. Uses
/// membarrier(2) (Linux 4.14 and later) or, where a container forbids it, visits. On a virtual machine with two
/// processors membarrier takes about 0.2 us, and 2 us while another thread of the process computes.
void fence_all_processors();

/// Does the same by moving the caller to each processor in turn. The thread that ran there was switched out, and a
/// switch is a full fence. Restores the caller's affinity. On the same machine a visit takes about 50 us to an idle
/// processor. Where another thread computes, it takes that thread's time slice: about 4 ms. Ends the process if the
/// system forbids setting the affinity as well.
void fence_by_visits();

}  // namespace latchlab
