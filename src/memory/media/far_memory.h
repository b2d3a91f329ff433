#pragma once
// The far memory of an index of sized values (indexes/sized_tiers.h): its description, and what it has done.
#include <array>
#include <optional>

#include "src/base/types.h"
#include "src/memory/media/medium_options.h"
#include "src/memory/media/placement_rule.h"
#include "src/memory/memory_config.h"
#include "src/stats/counters.h"

namespace latchlab {

/// The far memory of an index of sized values.
struct FarMemory {
  MemoryConfig memory{};  ///< as Medium::memory returns it
  PlacementRule rule{};
  std::optional<MediumSpeed> model{};  ///< the speed of a modelled medium
  u64 slack_ns = 0;                    ///< of the model's waits (MediumCharge)
};

/// What two memories of values have done. A value that is read counts once, with all its bytes.
struct TierCounters {
  u64 near_reads = 0;  ///< of values in near memory; short ones, which lie in the index, do not count
  u64 far_reads = 0;
  u64 far_bytes_read = 0;
  u64 far_writes = 0;  ///< new values, and demotions
  u64 far_bytes_written = 0;
  u64 promotions = 0;  ///< moves to near memory
  u64 demotions = 0;   ///< moves to far memory
  u64 looks = 0;       ///< at values in near memory, by the hand that seeks cold ones
  u64 late_moves = 0;  ///< copies that came too late, since the value was replaced or erased
  u64 near_full = 0;   ///< values that near memory had no room for
  u64 moving_ns = 0;   ///< time of moves, and of the hand that looks for cold values

  static constexpr auto fields() {
    using C = TierCounters;
    return std::array{CounterField{"near_reads", &C::near_reads},
                      CounterField{"far_reads", &C::far_reads},
                      CounterField{"far_bytes_read", &C::far_bytes_read},
                      CounterField{"far_writes", &C::far_writes},
                      CounterField{"far_bytes_written", &C::far_bytes_written},
                      CounterField{"promotions", &C::promotions},
                      CounterField{"demotions", &C::demotions},
                      CounterField{"looks", &C::looks},
                      CounterField{"late_moves", &C::late_moves},
                      CounterField{"near_full", &C::near_full},
                      CounterField{"moving_ns", &C::moving_ns}};
  }
};

}  // namespace latchlab
