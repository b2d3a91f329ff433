#include "harness/offer.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/progress.h"

namespace latchlab {

Lag lag_of(const std::vector<Worker>& workers) {
  Lag all;
  for (const Worker& worker : workers) {
    all.largest = std::max(all.largest, worker.lag.largest);
    all.at_end = std::max(all.at_end, worker.lag.at_end);
  }
  return all;
}

bool late(const Lag& lag, double seconds) {
  constexpr double kShare = .01, kSeconds = .01;
  const double at_end = static_cast<double>(lag.at_end) / 1e9;
  return at_end > kSeconds && at_end > kShare * seconds;
}

Offer offer_of(const std::vector<Worker>& workers, const Rate& rate, double seconds) {
  double came = 0;
  for (const Worker& worker : workers) {
    const double until = worker.until ? static_cast<double>(*worker.until) / 1e9 : seconds;
    came += rate.expected(until) * worker.share.of_all();
  }
  return {.per_second = came / seconds, .lag = lag_of(workers)};
}

std::string too_much(const Offer& offer, double done_per_second) {
  return fmt::format("the rate was more than the threads could bear: {} operations a second were done of {} that came, and at the "
                     "end one was {} late; lower --rate",
                     short_number(done_per_second), short_number(offer.per_second),
                     short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

}  // namespace latchlab
