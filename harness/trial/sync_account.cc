#include "harness/trial/sync_account.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace latchlab {

namespace {

using Counts = SyncStats::Counts;
using Series = SyncStats::Series;

Counts counters_and_aborts(const SyncStats& stats) {
  Counts all;
  if (stats.counters) all = *stats.counters;
  if (stats.aborts) all.insert(all.end(), stats.aborts->begin(), stats.aborts->end());
  return all;
}

OrReason<std::vector<Counts>> per_thread(const Trial& trial, const std::vector<std::vector<u64>>& counted, const SyncStats& sum) {
  if (!sum.counters) return OrReason<std::vector<Counts>>::missing(sum.counters.reason);
  std::vector<Counts> threads;
  for (const std::vector<u64>& own : counted) threads.push_back(counters_and_aborts(trial.sync_report(own, 0).stats));
  return threads;
}

/// The intervals of what the policy counts.
OrReason<std::vector<Series>> series_of(const Meter::TroubleSeries& troubles, const SyncStats& sum) {
  std::vector<Series> all;
  if (sum.aborts) all.push_back({"aborts", troubles.aborts});
  if (sum.fallback_rate) all.push_back({"fallbacks", troubles.fallbacks});
  if (sum.restart_rate) all.push_back({"restarts", troubles.restarts});
  if (all.empty()) return OrReason<std::vector<Series>>::missing("the policy counts nothing of the kind");
  return all;
}

/// A scan is several operations of the policy, a call of `keys` is one, and so is everything else.
bool counts_too_few(const SyncStats& stats, u64 operations, u32 keys) {
  return stats.counters && std::any_of(stats.counters->begin(), stats.counters->end(), [&](const NamedCount& c) {
           return c.name == "ops" && c.count * keys < operations;
         });
}

}  // namespace

SyncAccount sync_account(const Trial& trial, const std::vector<std::vector<u64>>& counted, const Meter::TroubleSeries& series,
                         u64 operations, u32 keys) {
  std::vector<u64> sums;
  for (const std::vector<u64>& own : counted) {
    sums.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) sums[i] += own[i];
  }
  SyncReport report = trial.sync_report(sums, operations);
  SyncAccount out;
  out.stats = std::move(report.stats);
  out.stats.per_thread = per_thread(trial, counted, out.stats);
  out.stats.series = series_of(series, out.stats);

  const bool had_to_elide = trial.elides() && report.elided && operations != 0;
  if (counts_too_few(out.stats, operations, keys)) {
    out.status = Status::kInvalid;
    out.reason = fmt::format("the policy counted fewer operations than the {} that were done", operations);
  } else if (!report.contradiction.empty()) {
    out.status = Status::kInvalid;
    out.reason = "counters contradict each other: " + report.contradiction;
  } else if (had_to_elide && report.degraded) {
    out.status = Status::kDegraded;
    out.reason = *report.degraded;
  } else if (had_to_elide && *report.elided == 0) {
    out.status = Status::kInvalid;
    out.reason = "no operation was elided, although the probe says that they can be here";
  }
  return out;
}

}  // namespace latchlab
