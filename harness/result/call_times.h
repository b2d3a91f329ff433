#pragma once

// The part of a result about single calls of the measured phase: their times, the offered load of an open loop, and the
// search of --slo.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/arrivals.h"
#include "harness/config/or_reason.h"
#include "harness/config/slo.h"
#include "harness/result/fields.h"
#include "src/base/types.h"

namespace latchlab {

struct Percentile {
  double percent = 0;
  u64 ns = 0;
};
void describe(Like<Percentile> auto& p, auto& field) {
  field("percent", p.percent, "", Bounds{.most = 100});
  field("ns", p.ns);
}

/// The distribution of the times of calls.
struct LatencySummary {
  u64 count = 0;
  double mean_ns = 0;
  u64 min_ns = 0;
  u64 max_ns = 0;
  std::vector<Percentile> percentiles;
  std::vector<std::pair<u64, u64>> histogram;
};
void describe(Like<LatencySummary> auto& s, auto& field) {
  field("count", s.count, "", kOneOrMore);
  field("mean_ns", s.mean_ns);
  field("min_ns", s.min_ns);
  field("max_ns", s.max_ns);
  field(
      "percentiles", s.percentiles,
      "times that the given percentages of calls did not exceed, at most 1/32 too large; percentiles that no call lies "
      "beyond are left out");
  field("histogram", s.histogram,
        "pairs of a bucket's largest time, ns, and its number of calls; harness hdr exports the histogram");
}

/// Returns the time that `percent` of the calls did not exceed, in ns; nothing if the summary does not have it.
[[nodiscard]] inline std::optional<double> time_at(const LatencySummary& summary, double percent) {
  const auto found = std::ranges::find(summary.percentiles, percent, &Percentile::percent);
  return found == summary.percentiles.end() ? std::nullopt : std::optional(static_cast<double>(found->ns));
}

/// The timed calls of one kind of operation.
struct OperationLatency {
  std::string name;
  LatencySummary summary;
  OrReason<LatencySummary> response;
  OrReason<u64> fallbacks;
  OrReason<std::vector<NamedCount>> aborts;
};
void describe(Like<OperationLatency> auto& l, auto& field) {
  field("time", l.summary);
  field("response", l.response, "times from the arrival of an operation to its end, in an open loop");
  field("fallbacks", l.fallbacks, "fallbacks in these calls");
  field("aborts", l.aborts, "aborts in these calls, by cause");
}
auto& named_value(Like<OperationLatency> auto& named) { return named; }

/// The times of single calls in the measured phase (latency.h).
struct Latency {
  double clock_ns = 0;
  /// The share of the threads' time that the timed calls took. The excess over their share of the operations is the
  /// cost of timing in a closed loop. The cost is higher if so many calls are timed that calls between them hardly
  /// overlap.
  double share_of_time = 0;
  LatencySummary all;
  OrReason<double> per_key_ns;
  OrReason<LatencySummary> response;
  std::vector<OperationLatency> operations;
  OrReason<LatencySummary> fell_back;
};
void describe(Like<Latency> auto& l, auto& field) {
  field.about(
      "times of single calls in the measured phase; each call stands alone between two readings of the clock, and its "
      "time includes clock_ns for them");
  field("clock_ns", l.clock_ns, "time of an empty call");
  field("share_of_time", l.share_of_time, "share of timed calls in throughput.seconds of all threads", kUpToOne);
  field("all", l.all, "times from the beginning of a call to its end");
  field("per_key_ns", l.per_key_ns,
        "all.mean_ns over the keys of a call: config.batch, or those of a multi-get; null if calls differ in their "
        "number "
        "of keys");
  field("response", l.response, "times from the arrival of an operation to its end, in an open loop");
  field("per_operation", l.operations);
  field("fell_back", l.fell_back, "times of calls in which an operation fell back; null if none did, or all");
}

/// The offered load of an open loop, and how late the threads were (open_loop.h).
struct OfferedLoad {
  double per_second = 0;
  OrReason<u64> arrivals;
  Lag lag;  ///< the largest of all threads
  bool late = false;
};
void describe(Like<OfferedLoad> auto& o, auto& field) {
  field.about("offered load of an open loop: operations that arrived, where throughput counts operations done");
  field("per_second", o.per_second,
        "mean rate of arrivals, as the offered load prescribes it; for a trace the observed rate");
  field("arrivals", o.arrivals, "arrivals in the measured phase, up to its planned end");
  field("largest_lag_ns", o.lag.largest, "longest time from an arrival to the start of its operation");
  field("lag_at_end_ns", o.lag.at_end,
        "time from the oldest arrival that had not started to the end of the phase; if all had started, the lag of the "
        "last one. If the queue grows, this lag grows with the length of the phase");
  field("late", o.late, "true if the queue was growing: response times then depend on the length of the phase");
}

/// The search for a rate that keeps a bound (slo.h).
struct SloSearch {
  struct Try {
    u64 per_second = 0;
    OrReason<double> offered;
    double served = 0;
    OrReason<u64> response_ns;
    bool late = false;
    bool cut = false;
    bool kept = false;
  };
  RateSearch::Answer answer = RateSearch::Answer::kFound;
  double closed_per_second = 0;
  std::vector<Try> tries;  ///< at least one
};
void describe(Like<SloSearch::Try> auto& t, auto& field) {
  field("per_second", t.per_second, "mean rate of arrivals that was tried", kOneOrMore);
  field("offered", t.offered,
        "observed arrivals a second, up to the planned end; null if too many were waiting to be counted");
  field("served", t.served, "operations a second that had started by that end and were done");
  field(
      "response_ns", t.response_ns,
      "response time at the percentile of the bound; an arrival that was not served counts as longer than all others; "
      "null if the percentile lies among those");
  field("late", t.late, "true if the threads could not keep up with the rate");
  field("cut", t.cut, "true if a signal or a full index ended the try early; it then did not keep the bound");
  field("kept", t.kept,
        "true if response_ns is within the bound, at least 99 % of the arrivals were served, and the try was neither "
        "late nor cut");
}
void describe(Like<SloSearch> auto& s, auto& field) {
  field.about(
      "search for the highest rate that keeps the bound of config.slo; the rest of the document is about the last try");
  field(
      "answer", s.answer,
      "found: the rate of the last try; all-keep: even the rate of a closed loop keeps the bound; none-keeps: not even "
      "the lowest rate keeps it, a thousandth of a closed loop's or the lowest with enough calls; unfinished: the "
      "search ended before it had an answer; unsteady: a rate that kept the bound broke it in a later try");
  field("closed_per_second", s.closed_per_second, "operations a second of a closed loop before the search");
  field("tries", s.tries);
}

}  // namespace latchlab
