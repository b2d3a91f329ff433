#pragma once
// Injected aborts. The hardware decides when a transaction aborts, so code that handles aborts is tested least. On the
// emulated and the simulated machine a plan decides instead: whether each new transaction aborts, where, and with which
// status.
//
//     auto injected = Emulated::inject(
//         AbortInjection::script({PlannedAbort{.at = AbortMoment::kCommit, .status = kAbortCapacity}}));
//
// The plan applies to the calling thread (on Simulated: the calling fiber) until `injected` dies. Plans nest.
#include <optional>
#include <utility>
#include <vector>

#include "src/base/rng.h"
#include "src/base/types.h"

namespace latchlab {

enum class AbortMoment : u8 { kBegin, kAccess, kCommit };

struct PlannedAbort {
  AbortMoment at = AbortMoment::kBegin;
  u32 status = 0;  // returned verbatim by transact
  u32 access = 1;  // for kAccess: abort before this access to a cell, counted from 1; a shorter transaction commits
};

class AbortInjection {
 public:
  using Script = std::vector<std::optional<PlannedAbort>>;

  /// Gives the i-th transaction from now on the i-th entry. An empty entry injects no abort, and neither does the end
  /// of the script.
  static AbortInjection script(Script entries) {
    AbortInjection plan;
    plan.script_ = std::move(entries);
    return plan;
  }

  /// Aborts each transaction with probability `rate` (0 to 1), at a random moment, with one of `statuses` (not empty).
  /// The sequence is a function of the seed.
  static AbortInjection random(u64 seed, double rate, std::vector<u32> statuses) {
    AbortInjection plan;
    plan.state_ = seed * 0x9e3779b97f4a7c15u + 1;
    plan.below_ = static_cast<u64>(rate * 0x1p32);
    plan.statuses_ = std::move(statuses);
    return plan;
  }

  /// Returns the abort that is planned for the transaction that begins now, if any.
  std::optional<PlannedAbort> next() {
    if (statuses_.empty()) return drawn_ < script_.size() ? script_[drawn_++] : std::nullopt;
    if (draw() >> 32 >= below_) return std::nullopt;
    PlannedAbort abort;
    abort.at = static_cast<AbortMoment>(draw() % 3);
    abort.status = statuses_[draw() % statuses_.size()];
    // The position is spread over the orders of magnitude: short transactions are common, and the end of long ones
    // matters too.
    abort.access = 1 + static_cast<u32>(draw() % (u64{1} << draw() % 8));
    return abort;
  }

 private:
  AbortInjection() = default;

  u64 draw() { return splitmix64(state_); }

  Script script_;
  std::size_t drawn_ = 0;
  u64 state_ = 0;
  u64 below_ = 0;
  std::vector<u32> statuses_;
};

}  // namespace latchlab
