#include "harness/trial/slo_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "harness/config/arrivals.h"
#include "harness/config/numbers.h"

namespace latchlab {

SloSearch search_for_slo(const Slo& slo, double closed_per_second, u64 least,
                         const std::function<std::optional<Tried>(u64 per_second)>& try_at) {
  SloSearch told;
  told.closed_per_second = closed_per_second;
  told.answer = RateSearch::Answer::kUnfinished;
  RateSearch rates(std::clamp<u64>(static_cast<u64>(closed_per_second), 1, Rate::kMost), least);
  bool missed = false;   // the rate that is tried, once
  while (const auto rate = rates.next()) {
    const std::optional<Tried> tried = try_at(*rate);
    if (!tried) return told;
    SloSearch::Try& one = told.tries.emplace_back();
    one.per_second = *rate;
    one.done_per_second = tried->done_per_second;
    one.late = tried->late;
    one.cut = !tried->whole;
    if (tried->responses.count() > 0) {
      one.response_ns = tried->responses.at_rank(tried->responses.rank_of(slo.thousandths));
    } else {
      one.response_ns = Measured<u64>::missing("no call was timed");
    }
    one.kept = tried->whole && !one.late && one.response_ns && *one.response_ns <= slo.bound_ns;
    if (one.cut) return told;
    if (!one.kept && !std::exchange(missed, true)) continue;
    missed = false;
    rates.note(one.kept);
  }
  told.answer = rates.answer();
  return told;
}

std::string why_no_rate(const Slo& slo, const SloSearch& told, bool full) {
  const std::size_t tries = told.tries.size();
  switch (told.answer) {
    case RateSearch::Answer::kFound:
    case RateSearch::Answer::kAllKeep: break;
    case RateSearch::Answer::kNoneKeeps:
      return fmt::format("no rate keeps --slo={}: not even {} operations a second, of which a closed loop does {}", slo.str(),
                         short_number(static_cast<double>(told.tries.back().per_second)), short_number(told.closed_per_second));
    case RateSearch::Answer::kUnsteady:
      return fmt::format("no rate keeps --slo={} twice: what kept it broke it when it was tried again, in {} tries", slo.str(), tries);
    case RateSearch::Answer::kUnfinished:
      return fmt::format("the search for --slo={} has no answer: {} after {} tries", slo.str(),
                         full ? "the index was full" : "it was interrupted", tries);
  }
  return "";
}

u64 least_rate(const Slo& slo, u32 latency_every, u64 time_ns) {
  if (time_ns == 0) return 1;
  return static_cast<u64>(std::ceil(static_cast<double>(slo.fewest_calls()) * latency_every * 1e9 / static_cast<double>(time_ns)));
}

}  // namespace latchlab
