#include "harness/config/expected_time.h"

#include <algorithm>

namespace latchlab {

ExpectedTime expected_time(const Plan& run) {
  const Config& config = run.config;
  if (!run.skip.empty()) return {};
  if (run.model) {
    return {.seconds = static_cast<double>(config.records + run.warmup_operations) / kModelledPerSecond,
            .is_whole = false};
  }
  const double prepared = static_cast<double>(config.records) / kPreparedPerSecond;
  return {.seconds = prepared + static_cast<double>(config.warmup_ns + config.time_ns) / 1e9,
          .is_whole = config.time_ns != 0 && !config.slo};
}

TimeLeft::TimeLeft(const std::vector<Plan>& runs)
    : weighs_(std::ranges::all_of(runs, [](const Plan& run) { return expected_time(run).is_whole; })) {
  for (const Plan& run : runs) left_ += weight_of(run);
}

void TimeLeft::done(const Plan& run, double seconds) {
  left_ -= weight_of(run);
  done_ += weight_of(run);
  seconds_ += seconds;
}

std::optional<double> TimeLeft::seconds() const {
  if (done_ <= 0) return std::nullopt;
  return seconds_ / done_ * std::max(left_, 0.0);
}

double TimeLeft::weight_of(const Plan& run) const {
  if (!run.skip.empty()) return 0;
  return weighs_ ? expected_time(run).seconds : 1;
}

}  // namespace latchlab
