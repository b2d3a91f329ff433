#include "harness/trial/latency_account.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "workloads/op.h"

namespace latchlab {

namespace {

/// Returns the summary of a histogram. It has a percentile only if at least one call lies beyond it.
LatencySummary summary_of(const Histogram& ns) {
  LatencySummary out{.count = ns.count(),
                     .mean_ns = ns.mean(),
                     .min_ns = ns.min(),
                     .max_ns = ns.max(),
                     .percentiles = {},
                     .histogram = ns.buckets()};
  for (const u64 thousandths : {50'000, 90'000, 99'000, 99'900, 99'990, 99'999}) {
    const u64 rank = ns.rank_of(thousandths);
    if (rank >= ns.count()) break;
    out.percentiles.push_back({static_cast<double>(thousandths) / 1000, ns.at_rank(rank)});
  }
  return out;
}

OrReason<LatencySummary> response_of(const Histogram& ns) {
  return ns.count() > 0 ? OrReason(summary_of(ns)) : OrReason<LatencySummary>::missing(kClosedLoop);
}

/// Returns the mean time of a call divided by its keys.
OrReason<double> per_key_ns(const Latency& latency, const std::vector<OperationRate>& rates, const Batching& batch) {
  const auto timed = [&](OpKind kind) {
    return std::ranges::count(latency.operations, word(kind), &OperationLatency::name) != 0;
  };
  if (timed(OpKind::kScan)) return OrReason<double>::missing("a scan has as many keys as it finds");
  if (batch.order == BatchOrder::kRolling || batch.order == BatchOrder::kAuto)
    return OrReason<double>::missing("the time of a rolling batch is in part that of the batches before it");
  if (!timed(OpKind::kMultiGet)) return latency.all.mean_ns / batch.keys;
  if (latency.operations.size() > 1)
    return OrReason<double>::missing("multi-gets have several keys, and other timed calls one");
  const OperationRate& gets = *std::ranges::find(rates, word(OpKind::kMultiGet), &OperationRate::name);
  return latency.all.mean_ns * static_cast<double>(gets.count) / static_cast<double>(gets.keys);
}

/// Returns the latencies, except share_of_time and per_key_ns.
Latency latency_of(const Latencies& all, const SyncStats& sync, double clock_ns) {
  Latency out{.clock_ns = clock_ns,
              .share_of_time = 0,
              .all = {},
              .per_key_ns = {},
              .response = {},
              .operations = {},
              .fell_back = {}};
  Histogram sum;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const Latencies::OfKind& kind = all.kinds()[k];
    if (kind.ns.count() == 0) continue;
    sum += kind.ns;
    OperationLatency& of = out.operations.emplace_back();
    of.name = kWords<OpKind>[k];
    of.summary = summary_of(kind.ns);
    of.response = response_of(kind.response);
    of.fallbacks =
        sync.fallback_rate ? OrReason<u64>(kind.fallbacks) : OrReason<u64>::missing(sync.fallback_rate.reason);
    of.aborts = OrReason<std::vector<NamedCount>>::missing(sync.aborts.reason);
    if (!sync.aborts) continue;
    std::vector<NamedCount> causes;
    for (std::size_t i = 0; i < kind.aborts.size(); ++i)
      causes.push_back({std::string(kWords<AbortCause>[i]), kind.aborts[i]});
    of.aborts = std::move(causes);
  }
  out.all = summary_of(sum);
  out.response = response_of(all.responses());
  const u64 fell_back = all.fell_back().count();
  if (fell_back != 0 && fell_back != sum.count()) {
    out.fell_back = summary_of(all.fell_back());
  } else {
    out.fell_back = OrReason<LatencySummary>::missing(!sync.fallback_rate ? sync.fallback_rate.reason
                                                      : fell_back == 0    ? "no timed call fell back"
                                                                          : "every timed call fell back");
  }
  return out;
}

/// Returns what the policy counted, as far as timed calls are charged with it. The loop over sized values times calls
/// of the store, and the counters are those of the index below it.
SyncStats charged_to_calls(SyncStats sync, const Config& config) {
  constexpr const char* kWhy = "calls are not charged with counters if values are sized (--value-size)";
  if (config.sized() && sync.aborts) sync.aborts = OrReason<SyncStats::Counts>::missing(kWhy);
  if (config.sized() && sync.fallback_rate) sync.fallback_rate = OrReason<double>::missing(kWhy);
  return sync;
}

/// Returns the note about what timing costs in a closed loop. `operations` are those of the measured phase, `in_calls`
/// of them in timed calls.
std::string cost_of_timing(const Latency& latency, u64 operations, u64 in_calls) {
  const double timed = static_cast<double>(in_calls) / static_cast<double>(operations);
  return fmt::format(
      "timed calls overlap with no others, which costs throughput: {} of the operations took {} of the time",
      percent(timed), percent(latency.share_of_time));
}

}  // namespace

Account<OrReason<Latency>> latency_account(const Config& config, const MeasuredPhase& phase,
                                           const Throughput& throughput, const SyncStats& sync) {
  Latency latency = latency_of(*phase.latencies, charged_to_calls(sync, config), phase.clock_ns);
  if (latency.all.count == 0) {
    const std::string why = fmt::format("no call was timed: one in {} is, and there were fewer", config.latency_every);
    return {OrReason<Latency>::missing(why), {}};
  }
  const double threads_ns = throughput.seconds * 1e9 * static_cast<double>(phase.threads.size());
  latency.share_of_time = std::min(1.0, static_cast<double>(latency.all.count) * latency.all.mean_ns / threads_ns);
  latency.per_key_ns = per_key_ns(latency, throughput.per_operation, config.batch);
  Remarks remarks;
  if (!phase.offer)
    remarks.push_back({Status::kOk, cost_of_timing(latency, throughput.operations, phase.latencies->requests())});
  return {std::move(latency), std::move(remarks)};
}

}  // namespace latchlab
