#pragma once

// What a result says of single calls of the measured phase: how long they took, how an open loop went, and how a bound
// on response times was looked for.

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

/// How long calls took.
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
  field("percentiles", s.percentiles,
        "the time that so many percent did not exceed, at most a thirty-second too large; those that no call lies "
        "beyond are left out");
  field("histogram", s.histogram,
        "the largest time of a bucket, ns, and how many calls it holds; harness hdr exports it");
}

/// The time that so many percent of the calls did not exceed, ns; nothing where the summary does not say.
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
  field("response", l.response, "from when they were due, in an open loop");
  field("fallbacks", l.fallbacks, "in these calls");
  field("aborts", l.aborts, "in these calls, by cause");
}
auto& named_value(Like<OperationLatency> auto& named) { return named; }

/// How long single calls took in the measured phase (latency.h).
struct Latency {
  double clock_ns = 0;
  /// The share of the threads' time that the timed calls took. What exceeds their share of the operations is what
  /// timing costs a closed loop. Timing costs more where so many calls are timed that their neighbours hardly overlap
  /// either.
  double share_of_time = 0;
  LatencySummary all;
  OrReason<double> per_key_ns;
  OrReason<LatencySummary> response;
  std::vector<OperationLatency> operations;
  OrReason<LatencySummary> fell_back;
};
void describe(Like<Latency> auto& l, auto& field) {
  field.about(
      "of single calls in the measured phase: each stands alone between two readings of the clock, with clock_ns of "
      "them inside");
  field("clock_ns", l.clock_ns, "what an empty call takes");
  field("share_of_time", l.share_of_time, "of timed calls in throughput.seconds of all threads", kUpToOne);
  field("all", l.all);
  field("per_key_ns", l.per_key_ns,
        "all.mean_ns over the keys of a call: config.batch, or those of a multi-get; null where calls differ in them");
  field("response", l.response,
        "of an open loop: from when an operation was due to its end, where all is from its beginning");
  field("per_operation", l.operations);
  field("fell_back", l.fell_back, "calls in which an operation fell back; null where none did, or all");
}

/// How an open loop went (open_loop.h).
struct OfferedLoad {
  double per_second = 0;
  OrReason<u64> arrivals;
  Lag lag;  ///< the largest of all threads
  bool late = false;
};
void describe(Like<OfferedLoad> auto& o, auto& field) {
  field.about("of an open loop: what came, where throughput is what was done");
  field("per_second", o.per_second, "operations that were to come, on average; of a trace's own times those that came");
  field("arrivals", o.arrivals, "operations that came in the measured phase, up to the end that was asked for");
  field("largest_lag_ns", o.lag.largest, "between an arrival and when its operation began");
  field("lag_at_end_ns", o.lag.at_end,
        "between the oldest arrival that had not begun at the end and the end; where all have begun, of the last: a "
        "queue that grows is "
        "a part of the phase");
  field("late", o.late, "that is a queue that grows: response times say how long it was looked at");
}

/// How a bound was looked for (slo.h).
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
  std::vector<Try> tries;  ///< one at least
};
void describe(Like<SloSearch::Try> auto& t, auto& field) {
  field("per_second", t.per_second, "operations that were to come, on average", kOneOrMore);
  field("offered", t.offered,
        "operations a second that came, up to the end that was asked for; null where too many waited to be counted");
  field("served", t.served, "of them those that had begun at the end, and were done, over the same seconds");
  field("response_ns", t.response_ns,
        "at the percentile of the bound, where what was not served counts as longer than all that was; null where the "
        "percentile is "
        "among the former");
  field("late", t.late, "the threads could not bear the rate");
  field("cut", t.cut, "it was cut short, by a signal or a full index, and kept nothing");
  field("kept", t.kept,
        "response_ns is within the bound, 99 % of what was offered was served, and it was neither late nor cut");
}
void describe(Like<SloSearch> auto& s, auto& field) {
  field.about(
      "the search for the highest rate that keeps the bound of config.slo; the other numbers are those of the last "
      "try");
  field("answer", s.answer,
        "all-keep: even as many as a closed loop does; none-keeps: not even a thousandth of it, or the fewest that say "
        "anything in the "
        "time; unfinished: the search ended before it had an answer; unsteady: what kept the bound broke it when it "
        "was tried again");
  field("closed_per_second", s.closed_per_second, "operations of a closed loop, before");
  field("tries", s.tries);
}

}  // namespace latchlab
