#include "harness/compare/outliers.h"

#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "harness/compare/statistics.h"
#include "harness/config/numbers.h"
#include "harness/host/on_processor.h"

namespace latchlab {

namespace {

using Number = std::optional<double>;

/// Returns how often per second the kernel descheduled threads in the measured phase.
Number switches_a_second(const TrialResult& trial) {
  const OrReason<u64>& switches = trial.health.involuntary_switches;
  if (!switches || !trial.throughput) return std::nullopt;
  const double wall = trial.throughput->seconds / trial.throughput->timed_share;
  return wall > 0 && std::isfinite(wall) ? Number(static_cast<double>(*switches) / wall) : std::nullopt;
}

/// A figure of a run that may make it an outlier.
struct Sign {
  std::function<Number(const TrialResult&)> of;
  /// Returns the reason why `value` is an outlier beside the median; empty if it is none.
  std::function<std::string(double value, double middle)> judge;
};

const std::vector<Sign>& signs() {
  const auto health = [](OrReason<double> Health::* figure) {
    return [=](const TrialResult& t) { return (t.health.*figure).value; };
  };
  static const std::vector<Sign> all{
      {health(&Health::steal_share),
       [](double share, double) {
         return share >= .01 ? fmt::format("the host took {} of the processors' time", percent(share)) : "";
       }},
      {health(&Health::on_processor),
       [](double share, double) {
         return share < kEnoughOnProcessor ? fmt::format("a thread was on a processor {} of its time", percent(share))
                                           : "";
       }},
      {switches_a_second,
       [](double rate, double middle) {
         return rate > 20 && rate > 3 * middle
                    ? fmt::format("{:.0f} involuntary switches a second; the median is {:.0f}", rate, middle)
                    : "";
       }},
      {health(&Health::load_before),
       [](double load, double middle) {
         return load > middle + 1
                    ? fmt::format("the load average was {:.1f} before the run; the median is {:.1f}", load, middle)
                    : "";
       }},
      {[](const TrialResult& t) { return t.limits.cycle_ns.value; },
       [](double cycle, double middle) {
         return std::abs(cycle / middle - 1) > .03
                    ? fmt::format("{:.2f} GHz; the median is {:.2f}", 1 / cycle, 1 / middle)
                    : "";
       }},
  };
  return all;
}

}  // namespace

std::vector<std::vector<std::string>> outliers_of(const std::vector<const TrialResult*>& trials) {
  std::vector<std::vector<std::string>> flags(trials.size());
  for (const Sign& sign : signs()) {
    std::vector<double> values;
    for (const TrialResult* trial : trials) {
      if (const Number value = sign.of(*trial)) values.push_back(*value);
    }
    if (values.empty()) continue;
    const double middle = median(values);
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const Number value = sign.of(*trials[i]);
      std::string why = value ? sign.judge(*value, middle) : "";
      if (!why.empty()) flags[i].push_back(std::move(why));
    }
  }
  return flags;
}

}  // namespace latchlab
