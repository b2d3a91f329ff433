#include "harness/trial/slo_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "harness/config/arrivals.h"
#include "harness/config/numbers.h"

namespace latchlab {

namespace {

/// Returns the response time at the bound's percentile. If only some calls are timed, the same share of the operations
/// that were not served counts.
OrReason<u64> response_ns(const Tried& tried, u32 thousandths) {
  const u64 timed = tried.responses.count();
  if (timed == 0) return OrReason<u64>::missing("no call was timed");
  if (!tried.offered) return OrReason<u64>::missing(tried.offered.reason);
  const u64 unserved = *tried.offered - tried.served;
  const double beyond = static_cast<double>(unserved) * static_cast<double>(timed) / static_cast<double>(tried.served);
  const u64 rank = tried.responses.rank_of(thousandths, static_cast<u64>(std::llround(beyond)));
  if (rank <= timed) return tried.responses.at_rank(rank);
  return OrReason<u64>::missing(
      fmt::format("{} of {} operations that came had not begun at the end, and so have no response time", unserved,
                  *tried.offered));
}

/// Returns true if at least 99 % of the operations were served: those that come just before the end may have to wait.
bool serves(const Tried& tried) { return tried.offered && tried.served * 100 >= *tried.offered * 99; }

}  // namespace

SloSearch search_for_slo(const Slo& slo, double closed_per_second, u64 least,
                         const std::function<std::optional<Tried>(u64 per_second)>& try_at) {
  SloSearch told;
  told.closed_per_second = closed_per_second;
  told.answer = RateSearch::Answer::kUnfinished;
  RateSearch rates(std::clamp<u64>(static_cast<u64>(closed_per_second), 1, Rate::kMost), least);
  bool missed = false;  // the current rate has missed the bound once; it is tried twice
  while (const auto rate = rates.next()) {
    const std::optional<Tried> tried = try_at(*rate);
    if (!tried) return told;
    SloSearch::Try& one = told.tries.emplace_back();
    one.per_second = *rate;
    const auto a_second = [&](u64 operations) {
      return tried->seconds > 0 ? static_cast<double>(operations) / tried->seconds : 0;
    };
    one.offered =
        tried->offered ? OrReason(a_second(*tried->offered)) : OrReason<double>::missing(tried->offered.reason);
    one.served = a_second(tried->served);
    one.late = tried->late;
    one.cut = !tried->whole;
    one.response_ns = response_ns(*tried, slo.thousandths);
    one.kept = tried->whole && !one.late && serves(*tried) && one.response_ns && *one.response_ns <= slo.bound_ns;
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
      return fmt::format(
          "no rate keeps --slo={}: not even {} operations a second, of which {} were served, and a closed loop does {}",
          slo.str(), short_number(static_cast<double>(told.tries.back().per_second)),
          short_number(told.tries.back().served), short_number(told.closed_per_second));
    case RateSearch::Answer::kUnsteady:
      return fmt::format("no rate keeps --slo={} twice: every rate that kept it broke it when tried again, in {} tries",
                         slo.str(), tries);
    case RateSearch::Answer::kUnfinished:
      return fmt::format("the search for --slo={} has no answer: {} after {} tries", slo.str(),
                         full ? "the index was full" : "it was interrupted", tries);
  }
  return "";
}

u64 least_rate(const Slo& slo, u32 latency_every, u64 time_ns) {
  if (time_ns == 0) return 1;
  return static_cast<u64>(
      std::ceil(static_cast<double>(slo.fewest_calls()) * latency_every * 1e9 / static_cast<double>(time_ns)));
}

}  // namespace latchlab
