#include "harness/latency.h"

#include <algorithm>
#include <string>

namespace latchlab {

namespace {

/// Percentiles, in thousandths of a percent: those that at least one call lies beyond.
LatencySummary summary_of(const Histogram& ns) {
  LatencySummary out{.count = ns.count(), .mean_ns = ns.mean(), .min_ns = ns.min(), .max_ns = ns.max(), .percentiles = {}};
  for (const u64 thousandths : {50'000, 90'000, 99'000, 99'900, 99'990, 99'999}) {
    const u64 rank = (ns.count() * thousandths + 99'999) / 100'000;   // rounded up, in whole numbers: 999 of 1000 for 99.9
    if (rank >= ns.count()) break;
    out.percentiles.push_back({static_cast<double>(thousandths) / 1000, ns.at_rank(rank)});
  }
  return out;
}

/// What an empty call takes, ns.
double clock_ns() {
  Histogram empty;
  for (int i = 0; i < 1001; ++i) {
    const auto start = std::chrono::steady_clock::now();
    empty.add(static_cast<u64>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count()));
  }
  return static_cast<double>(empty.at_rank(501));
}

}  // namespace

Latencies& Latencies::operator+=(const Latencies& more) {
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    kinds_[k].ns += more.kinds_[k].ns;
    kinds_[k].fallbacks += more.kinds_[k].fallbacks;
    for (std::size_t i = 0; i < kinds_[k].aborts.size(); ++i) kinds_[k].aborts[i] += more.kinds_[k].aborts[i];
  }
  fell_back_ += more.fell_back_;
  return *this;
}

Latency latency_of(const Latencies& all, const SyncStats& sync) {
  Latency out{.clock_ns = clock_ns(), .all = {}, .operations = {}, .fell_back = {}, .histogram = {}};
  Histogram sum;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const Latencies::OfKind& kind = all.kinds()[k];
    if (kind.ns.count() == 0) continue;
    sum += kind.ns;
    OperationLatency& of = out.operations.emplace_back();
    of.name = kOpNames[k];
    of.summary = summary_of(kind.ns);
    of.fallbacks = sync.fallback_rate ? Measured<u64>(kind.fallbacks) : Measured<u64>::missing(sync.fallback_rate.reason);
    of.aborts = Measured<std::vector<NamedCount>>::missing(sync.aborts.reason);
    if (!sync.aborts) continue;
    std::vector<NamedCount> causes;
    for (std::size_t i = 0; i < kind.aborts.size(); ++i) causes.push_back({std::string(kAbortCauseNames[i]), kind.aborts[i]});
    of.aborts = std::move(causes);
  }
  out.all = summary_of(sum);
  out.histogram = sum.buckets();
  const u64 fell_back = all.fell_back().count();
  if (fell_back != 0 && fell_back != sum.count()) {
    out.fell_back = summary_of(all.fell_back());
  } else {
    out.fell_back = Measured<LatencySummary>::missing(!sync.fallback_rate ? sync.fallback_rate.reason
                                                      : fell_back == 0    ? "no timed call fell back"
                                                                          : "every timed call fell back");
  }
  return out;
}

}  // namespace latchlab
