#include "harness/text/open_loop_text.h"

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"

namespace latchlab {

std::string offer_text(const OfferedLoad& offer) {
  return fmt::format("{} arrivals/s   largest lag {}, at the end {}", short_number(offer.per_second),
                     short_duration(static_cast<double>(offer.lag.largest) / 1e9),
                     offer.lag.at_end == 0 ? "none" : short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

std::string slo_text(const Slo& slo, const SloSearch& search) {
  const u64 last = search.tries.back().per_second;
  const std::string bound = fmt::format("p{} at most {}", slo.thousandths / 1000.0, duration_text(slo.bound_ns));
  const std::string closed = fmt::format("a closed loop does {} operations/s", short_number(search.closed_per_second));
  switch (search.answer) {
    case RateSearch::Answer::kFound: break;
    case RateSearch::Answer::kAllKeep: return fmt::format("{} even at the rate of a closed loop; {}", bound, closed);
    case RateSearch::Answer::kNoneKeeps:
      return fmt::format("no rate keeps {}, not even {} operations/s, of which {} were served; {}", bound,
                         short_number(static_cast<double>(last)), short_number(search.tries.back().served), closed);
    case RateSearch::Answer::kUnsteady: return fmt::format("no rate keeps {} in two tries; {}", bound, closed);
    case RateSearch::Answer::kUnfinished:
      return fmt::format("{}: the search ended in try {}, at {} operations/s; {}", bound, search.tries.size(),
                         short_number(static_cast<double>(last)), closed);
  }
  return fmt::format("{} up to {} operations/s, found in try {}; {}", bound, short_number(static_cast<double>(last)),
                     search.tries.size(), closed);
}

std::string found_text(const Slo& slo, const SloSearch& search) {
  const std::string bound = slo.str(), last = short_number(static_cast<double>(search.tries.back().per_second));
  switch (search.answer) {
    case RateSearch::Answer::kFound: return fmt::format(", {} up to {}/s", bound, last);
    case RateSearch::Answer::kAllKeep: return fmt::format(", {} even at {}/s", bound, last);
    case RateSearch::Answer::kNoneKeeps: return fmt::format(", {} not even at {}/s", bound, last);
    case RateSearch::Answer::kUnsteady: return fmt::format(", {} at no rate in two tries", bound);
    case RateSearch::Answer::kUnfinished: break;
  }
  return fmt::format(", {} unfinished at {}/s", bound, last);
}

std::string response_text(const LatencySummary& response) {
  std::string text = ", response";
  for (const double percent : {50., 99.}) {
    if (const auto ns = time_at(response, percent)) text += fmt::format(" p{} {}", percent, short_duration(*ns / 1e9));
  }
  return text;
}

}  // namespace latchlab
