#pragma once

// The last step from options to a Plan. It fills in defaults that depend on other options or on the machine. Then it
// does every check that needs more than one option, or more than the command line.

#include <string>
#include <utility>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/config/plan.h"

namespace latchlab {

/// The options that were not given: true for a default.
struct Defaults {
  bool index = false;
  bool time = false;  ///< neither --time nor --ops
  bool keys = false;
  bool records = false;
  bool warmup = false;
  bool alloc = false;
  bool reclaim = false;
  bool wait = false;
  bool dist = false;
  bool smt = false;
  bool latency = false;
  bool sample = false;
};

/// The number of distinct keys of a word of --keys. It remembers its answers, since it may have to read a file for one.
class CapacityOfKeys {
 public:
  /// Returns the number of distinct keys. `memory` is how many bytes the keys may take. Throws InputError as KeySet
  /// does.
  [[nodiscard]] u64 of(const Spec& keys, u64 memory);

 private:
  std::vector<std::pair<std::string, u64>> known_;
};

/// Returns the index, or the other index that one of its options selects (Pair::meant_by). Throws InputError for
/// options that the selected index does not have.
[[nodiscard]] Spec index_meant(Spec index, const Registry& registry);
/// Returns the policy with every option that is in effect, for any index. Returns an unknown policy unchanged. Throws
/// InputError.
[[nodiscard]] Spec in_effect(const Spec& sync, const Registry& registry);
/// Returns the index with every option that is in effect. Returns an unknown index unchanged. Throws InputError and
/// Contradiction.
[[nodiscard]] Spec index_in_effect(const Spec& index, const Registry& registry);

/// A plan, and whether the machine has room for it.
struct Planned {
  Plan plan;
  bool fits = true;  ///< false if the plan is skipped because the machine is too small
};
/// Fills in the options that were not given, checks everything, and makes the plan. Throws InputError for an option
/// that is wrong by itself. In two cases the plan has a reason to skip it instead, so that a sweep can go on:
///   1. only the combination is at fault (two writers under `none`);
///   2. the machine is too small, and --fit was given.
[[nodiscard]] Planned planned(Config config, const Defaults& defaults, const Surroundings& surroundings,
                              CapacityOfKeys& capacities);

}  // namespace latchlab
