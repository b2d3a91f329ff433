#include "harness/trial/sync_account.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

OrReason<std::vector<Counts>> per_thread(const std::vector<MeasuredThread>& threads, const SyncStats& sum) {
  if (!sum.counters) return OrReason<std::vector<Counts>>::missing(sum.counters.reason);
  std::vector<Counts> all;
  for (const MeasuredThread& thread : threads) all.push_back(counters_and_aborts(thread.sync));
  return all;
}

/// Returns the series of the rates that the policy counts.
OrReason<std::vector<Series>> series_of(const Meter::ContentionSeries& contention, const SyncStats& sum) {
  std::vector<Series> all;
  if (sum.aborts) all.push_back({"aborts", contention.aborts});
  if (sum.fallback_rate) all.push_back({"fallbacks", contention.fallbacks});
  if (sum.restart_rate) all.push_back({"restarts", contention.restarts});
  if (all.empty()) return OrReason<std::vector<Series>>::missing("the policy counts nothing of the kind");
  return all;
}

/// Returns true if the policy counted too few operations. A scan is several operations of the policy; a call of up to
/// `keys` operations, like any other call, is one.
bool counts_too_few(const SyncStats& stats, u64 operations, u32 keys) {
  return stats.counters && std::any_of(stats.counters->begin(), stats.counters->end(), [&](const NamedCount& c) {
           return c.name == "ops" && c.count * keys < operations;
         });
}

}  // namespace

Account<SyncStats> sync_account(const MeasuredPhase& phase, bool elides, u32 keys) {
  const u64 operations = phase.operations();
  const SyncReport& report = phase.sync;
  Account<SyncStats> out{report.stats, {}};
  out.part.per_thread = per_thread(phase.threads, report.stats);
  out.part.series = series_of(phase.contention, report.stats);

  const auto found = [&](Status status, std::string why) { out.remarks.push_back({status, std::move(why)}); };
  const bool had_to_elide = elides && report.elided && operations != 0;
  if (counts_too_few(report.stats, operations, keys)) {
    found(Status::kInvalid, fmt::format("the policy counted fewer operations than the {} that were done", operations));
  } else if (!report.contradiction.empty()) {
    found(Status::kInvalid, "counters contradict each other: " + report.contradiction);
  } else if (had_to_elide && report.degraded) {
    found(Status::kDegraded, *report.degraded);
  } else if (had_to_elide && *report.elided == 0) {
    found(Status::kInvalid, "no operation was elided, although the probe says that elision works here");
  }
  return out;
}

}  // namespace latchlab
