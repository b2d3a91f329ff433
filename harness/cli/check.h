#pragma once

// The last step from options to a Plan: defaults that depend on other options or on the machine, then every
// check that needs more than one option or more than the command line.

#include <string>
#include <utility>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/config/plan.h"

namespace latchlab {

/// Which values were not given.
struct Defaults {
  bool index = false;
  bool time = false;  ///< neither --time nor --ops
  bool keys = false;
  bool records = false;
  bool warmup = false;
  bool alloc = false;
  bool reclaim = false;
  bool dist = false;
  bool smt = false;
  bool latency = false;
};

/// How many distinct keys a word of --keys has; remembers the answer, since a file must be read for it.
class CapacityOfKeys {
 public:
  /// Throws InputError as KeySet does; `memory`: bytes that there are for the keys.
  [[nodiscard]] u64 of(const Spec& keys, u64 memory);

 private:
  std::vector<std::pair<std::string, u64>> known_;
};

/// Fills in what is to be done for --mem, or why nothing is. Throws InputError for a node that is not there.
void place_memory(Plan& plan, const Topology& topology);

/// The index itself, or the one that is meant by one of its options (Pair::meant_by). Throws InputError for options
/// that this one has not.
[[nodiscard]] Spec index_meant(Spec index, const Registry& registry);
/// The policy with every option as it would be in effect, whatever the index; an unknown one as it is. Throws
/// InputError.
[[nodiscard]] Spec in_effect(const Spec& sync, const Registry& registry);
/// The same of an index. Throws Contradiction, too.
[[nodiscard]] Spec index_in_effect(const Spec& index, const Registry& registry);

/// Fills in what was not given, checks the whole, and plans it. Throws InputError for what is wrong in itself; the plan
/// is to be skipped where only the combination is at fault (two writers under `none`), so that a sweep can go on
/// without it, or where there is no room for it and --fit asks.
struct Planned {
  Plan plan;
  bool fits = true;  ///< false where it is skipped for want of room
};
[[nodiscard]] Planned planned(Config config, const Defaults& defaults, const Surroundings& surroundings,
                              CapacityOfKeys& capacities);

}  // namespace latchlab
