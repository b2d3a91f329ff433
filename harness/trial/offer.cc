#include "harness/trial/offer.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/config/numbers.h"

namespace latchlab {

Lag lag_of(const std::vector<Worker>& workers) {
  Lag all;
  for (const Worker& worker : workers) {
    if (!worker.loop) continue;
    all.largest = std::max(all.largest, worker.loop->lag().largest);
    all.at_end = std::max(all.at_end, worker.loop->lag().at_end);
  }
  return all;
}

bool late(const Lag& lag, double seconds) {
  constexpr double kShare = .01, kSeconds = .01;
  const double at_end = static_cast<double>(lag.at_end) / 1e9;
  return at_end > kSeconds && at_end > kShare * seconds;
}

namespace {

/// Those that came to each thread until it had no operation left, or until the end; nothing if they are too many to look at: of
/// arrivals of chance that takes a draw for each that waited. A trace has no more than it holds.
Measured<u64> arrivals_in(std::vector<Worker>& workers, const Rate& rate, double seconds) {
  constexpr u64 kMostDraws = 10'000'000;   // of each thread: as many take a third of a second
  const u64 most = rate.law == Rate::Law::kTrace ? ~u64{0} : kMostDraws;
  u64 all = 0;
  for (Worker& worker : workers) {
    if (!worker.loop) continue;   // it never began
    const auto came = worker.until ? worker.loop->begun() : worker.loop->came(static_cast<u64>(seconds * 1e9), most);
    if (!came) return Measured<u64>::missing(fmt::format("more than {} waited for a thread as it left: nobody counted them", kMostDraws));
    all += *came;
  }
  return all;
}

}  // namespace

Offer offer_of(std::vector<Worker>& workers, const Rate& rate, double seconds) {
  Offer offer{.per_second = 0, .arrivals = arrivals_in(workers, rate, seconds), .lag = lag_of(workers)};
  offer.late = late(offer.lag, seconds);
  if (rate.law == Rate::Law::kTrace) {
    offer.per_second = static_cast<double>(*offer.arrivals) / seconds;
    return offer;
  }
  for (const Worker& worker : workers) {
    const double until = worker.until ? static_cast<double>(*worker.until) / 1e9 : seconds;
    offer.per_second += rate.expected(until) * worker.share.of_all() / seconds;
  }
  return offer;
}

std::string too_much(const Offer& offer, double done_per_second) {
  return fmt::format("the rate was more than the threads could bear: {} operations a second were done of {} that came, and at the "
                     "end one was {} late; lower --rate",
                     short_number(done_per_second), short_number(offer.per_second),
                     short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

}  // namespace latchlab
