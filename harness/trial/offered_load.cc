#include "harness/trial/offered_load.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/config/numbers.h"

namespace latchlab {

namespace {

/// Returns the largest lags of all threads.
Lag lag_of(const std::vector<Worker>& workers) {
  Lag all;
  for (const Worker& worker : workers) {
    if (!worker.loop) continue;
    all.largest = std::max(all.largest, worker.loop->lag().largest);
    all.at_end = std::max(all.at_end, worker.loop->lag().at_end);
  }
  return all;
}

/// Returns true if the operations that wait at the end are a queue that grows: the lag is more than 10 ms and 1 % of
/// the phase.
bool late(const Lag& lag, double seconds) {
  constexpr double kShare = .01, kSeconds = .01;
  const double at_end = static_cast<double>(lag.at_end) / 1e9;
  return at_end > kSeconds && at_end > kShare * seconds;
}

/// Returns how many operations came to each thread until it had none left, or until the end. Random arrivals that still
/// wait must be drawn one by one, so nothing is returned if there are too many. A trace has a limited number.
OrReason<u64> arrivals_in(std::vector<Worker>& workers, const Rate& rate, u64 ns) {
  constexpr u64 kMostDraws = 10'000'000;  // for each thread; these take a third of a second
  const u64 most = rate.law == Rate::Law::kTrace ? ~u64{0} : kMostDraws;
  u64 all = 0;
  for (Worker& worker : workers) {
    if (!worker.loop) continue;  // the thread never began
    const auto came = worker.until ? worker.loop->begun() : worker.loop->came(ns, most);
    if (!came) {
      return OrReason<u64>::missing(
          fmt::format("more than {} operations waited for a thread at the end: too many to count", kMostDraws));
    }
    all += *came;
  }
  return all;
}

}  // namespace

u64 end_of_offer(double seconds, u64 length_ns) {
  const u64 took_ns = static_cast<u64>(seconds * 1e9);
  return length_ns == 0 ? took_ns : std::min(length_ns, took_ns);
}

OfferedLoad offer_of(std::vector<Worker>& workers, const Rate& rate, double seconds, u64 length_ns) {
  const u64 end_ns = end_of_offer(seconds, length_ns);
  OfferedLoad offer{.per_second = 0, .arrivals = arrivals_in(workers, rate, end_ns), .lag = {}};
  offer.lag = lag_of(workers);  // after arrivals_in(), which updates the lag at the end
  offer.late = late(offer.lag, seconds);
  if (rate.law == Rate::Law::kTrace) {
    offer.per_second = static_cast<double>(*offer.arrivals) / seconds;
    return offer;
  }
  for (const Worker& worker : workers) {
    const double until_ns = static_cast<double>(worker.until.value_or(end_ns));
    offer.per_second += rate.expected(until_ns / 1e9) * worker.share.of_all() / seconds;
  }
  return offer;
}

std::string too_much(const OfferedLoad& offer, double done_per_second) {
  return fmt::format(
      "the threads could not keep up with the rate: {} operations a second came and {} were done, and at the end one "
      "was {} late; lower --rate",
      short_number(offer.per_second), short_number(done_per_second),
      short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

}  // namespace latchlab
