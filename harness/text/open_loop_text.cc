#include "harness/text/open_loop_text.h"

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"

namespace latchlab {

std::string offer_text(const OfferedLoad& offer) {
  return fmt::format("{} operations/s came   one began {} late, at the end {}", short_number(offer.per_second),
                     short_duration(static_cast<double>(offer.lag.largest) / 1e9),
                     offer.lag.at_end == 0 ? "none" : short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

std::string slo_text(const Slo& slo, const SloSearch& search) {
  const u64 last = search.tries.back().per_second;
  const std::string bound = fmt::format("p{} of at most {}", slo.thousandths / 1000.0, duration_text(slo.bound_ns));
  const std::string closed = fmt::format("a closed loop does {} operations/s", short_number(search.closed_per_second));
  switch (search.answer) {
    case RateSearch::Answer::kFound: break;
    case RateSearch::Answer::kAllKeep: return fmt::format("{} even at that rate: {}", bound, closed);
    case RateSearch::Answer::kNoneKeeps:
      return fmt::format("no rate has {}, not even {} a second, of which {} were served; {}", bound,
                         short_number(static_cast<double>(last)), short_number(search.tries.back().served), closed);
    case RateSearch::Answer::kUnsteady: return fmt::format("no rate has {} twice; {}", bound, closed);
    case RateSearch::Answer::kUnfinished:
      return fmt::format("{}: the search ended at {} a second, its try {}; {}", bound,
                         short_number(static_cast<double>(last)), search.tries.size(), closed);
  }
  return fmt::format("{} up to {} operations/s, of {} tries; {}", bound, short_number(static_cast<double>(last)),
                     search.tries.size(), closed);
}

std::string found_text(const Slo& slo, const SloSearch& search) {
  const std::string bound = slo.str(), last = short_number(static_cast<double>(search.tries.back().per_second));
  switch (search.answer) {
    case RateSearch::Answer::kFound: return fmt::format(", {} up to {}/s", bound, last);
    case RateSearch::Answer::kAllKeep: return fmt::format(", {} even at {}/s", bound, last);
    case RateSearch::Answer::kNoneKeeps: return fmt::format(", {} not even at {}/s", bound, last);
    case RateSearch::Answer::kUnsteady: return fmt::format(", {} at no rate twice", bound);
    case RateSearch::Answer::kUnfinished: break;
  }
  return fmt::format(", {} looked for up to {}/s", bound, last);
}

std::string response_text(const LatencySummary& response) {
  std::string text = ", response";
  for (const double percent : {50., 99.}) {
    if (const auto ns = time_at(response, percent)) text += fmt::format(" p{} {}", percent, short_duration(*ns / 1e9));
  }
  return text;
}

}  // namespace latchlab
