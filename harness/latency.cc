#include "harness/latency.h"

#include <algorithm>
#include <string>

namespace latchlab {

namespace {

/// Of the shares, those that at least one call lies beyond.
LatencySummary summary_of(const Histogram& ns) {
  LatencySummary out{.count = ns.count(), .mean_ns = ns.mean(), .min_ns = ns.min(), .max_ns = ns.max(), .percentiles = {}};
  for (const double percent : {50.0, 90.0, 99.0, 99.9, 99.99, 99.999}) {
    if (static_cast<double>(ns.count()) * (100 - percent) < 99.999) break;
    out.percentiles.push_back({percent, ns.quantile(percent / 100)});
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
  return static_cast<double>(empty.quantile(.5));
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

Latency latency_of(const Latencies& all, u32 every, u32 keys, bool falls_back, bool aborts) {
  Latency out{.every = every, .keys = keys, .clock_ns = clock_ns(), .all = {}, .operations = {}, .fell_back = {}, .histogram = {}};
  Histogram sum;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const Latencies::OfKind& kind = all.kinds()[k];
    if (kind.ns.count() == 0) continue;
    sum += kind.ns;
    OperationLatency& of = out.operations.emplace_back();
    of.name = kOpNames[k];
    of.summary = summary_of(kind.ns);
    of.fallbacks = falls_back ? Measured<u64>(kind.fallbacks) : Measured<u64>::missing("the policy has no fallback");
    of.aborts = Measured<std::vector<NamedCount>>::missing("the policy counts no aborts");
    if (!aborts) continue;
    std::vector<NamedCount> causes;
    for (std::size_t i = 0; i < kind.aborts.size(); ++i) causes.push_back({std::string(kAbortCauseNames[i]), kind.aborts[i]});
    of.aborts = std::move(causes);
  }
  out.all = summary_of(sum);
  out.histogram = sum.buckets();
  if (all.fell_back().count() != 0) {
    out.fell_back = summary_of(all.fell_back());
  } else {
    out.fell_back = Measured<LatencySummary>::missing(falls_back ? "no timed call fell back" : "the policy has no fallback");
  }
  return out;
}

}  // namespace latchlab
