#include "harness/compare/flags.h"

#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "harness/compare/statistics.h"
#include "harness/config/numbers.h"
#include "harness/host/on_processor.h"
#include "harness/result/document.h"

namespace latchlab {

namespace {

using Number = std::optional<double>;

/// Of the threads of the run, in the measured phase.
Number switches_a_second(const Json& document) {
  const Number switches = number_at(document, "/health/involuntary_switches");
  const Number timed = number_at(document, "/throughput/seconds");
  const Number share = number_at(document, "/throughput/timed_share");
  if (!switches || !timed || !share || *timed <= 0 || *share <= 0) return std::nullopt;
  return *switches / (*timed / *share);
}

struct Sign {
  std::function<Number(const Json&)> of;
  /// Why a replicate is out of line with the middle one; empty if it is not.
  std::function<std::string(double value, double middle)> judge;
};

const std::vector<Sign>& signs() {
  const auto at = [](const char* place) { return [place](const Json& document) { return number_at(document, place); }; };
  static const std::vector<Sign> all{
      {at("/health/steal_share"),
       [](double share, double) {
         return share >= .01 ? fmt::format("the host took {} of the processors' time", percent(share)) : "";
       }},
      {at("/health/on_processor"),
       [](double share, double) {
         return share < kEnoughOnProcessor ? fmt::format("a thread was on a processor {} of its time", percent(share)) : "";
       }},
      {switches_a_second,
       [](double rate, double middle) {
         return rate > 20 && rate > 3 * middle
                    ? fmt::format("{:.0f} involuntary switches a second, {:.0f} in the middle", rate, middle)
                    : "";
       }},
      {at("/health/load_before"),
       [](double load, double middle) {
         return load > middle + 1 ? fmt::format("load {:.1f} before it, {:.1f} in the middle", load, middle) : "";
       }},
      {at("/limits/cycle_ns"),
       [](double cycle, double middle) {
         return std::abs(cycle / middle - 1) > .03
                    ? fmt::format("{:.2f} GHz, {:.2f} in the middle", 1 / cycle, 1 / middle)
                    : "";
       }},
  };
  return all;
}

}  // namespace

std::vector<std::vector<std::string>> flags_of(const std::vector<Json>& documents) {
  std::vector<std::vector<std::string>> flags(documents.size());
  for (const Sign& sign : signs()) {
    std::vector<double> values;
    for (const Json& document : documents) {
      if (const Number value = sign.of(document)) values.push_back(*value);
    }
    if (values.empty()) continue;
    const double middle = median(values);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const Number value = sign.of(documents[i]);
      std::string why = value ? sign.judge(*value, middle) : "";
      if (!why.empty()) flags[i].push_back(std::move(why));
    }
  }
  return flags;
}

}  // namespace latchlab
