#pragma once

// Estimates of the time that runs take: before a list begins, from what it asks for; while it runs, from the runs that
// are done.

#include <optional>
#include <vector>

#include "harness/config/plan.h"
#include "src/base/types.h"

namespace latchlab {

/// The expected rate of preparation and check, in records a second. They load the index, verify it, compare it with the
/// tally, and measure the limits of its memory.
inline constexpr double kPreparedPerSecond = 1e6;
/// The same on a modelled machine, and the expected rate of operations in its warm-up.
inline constexpr double kModelledPerSecond = 3e5;

/// The time that a run is expected to take.
struct ExpectedTime {
  double seconds = 0;    ///< preparation and warm-up, and the measured phase where its length is known
  bool is_whole = true;  ///< false if the length of the measured phase is not known: it ends after operations,
                         ///< searches for the rate of --slo, or passes in virtual time
};
/// Returns the time that a run is expected to take; no time if it is skipped.
[[nodiscard]] ExpectedTime expected_time(const Plan& run);

/// Estimates the rest of a list of runs from the runs that are done, in proportion to the expected times. If one of
/// these is not known, all runs count alike.
class TimeLeft {
 public:
  explicit TimeLeft(const std::vector<Plan>& runs);

  /// Takes a run of the list off the rest: it took so many seconds.
  void done(const Plan& run, double seconds);

  /// Returns the seconds that the rest takes; nothing until a run is done.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  [[nodiscard]] double weight_of(const Plan& run) const;

  bool weighs_ = true;  // all expected times are known
  double left_ = 0, done_ = 0;
  double seconds_ = 0;  // time of the runs in done_
};

}  // namespace latchlab
