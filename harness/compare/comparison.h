#pragma once

// What a comparison came to, wherever its replicates are from: `harness ab` runs them (ab.h), `harness compare` reads
// them (compare.h). The first variant is the base; each of the others has a ratio to it with an interval, a test and a
// verdict (contrast.h).
//
//     block 0   | b | a | c |        ratio of b in block i:  b_i / a_i
//     block 1   | a | c | b |        reported: the median over blocks, and a 95 % bootstrap interval over
//     blocks
//     ...
//
// Where there are no blocks, it is the ratio of the medians.
//
// How fast a run was is its throughput; in an open loop of a given rate (--rate), where that is the rate whatever the
// index, it is the response time that 99 % of the operations did not exceed: the ratio is the base's to the variant's,
// so that more is faster either way. The rate of a search (--slo) counts if it keeps the bound. The two do not compare
// with each other.
//
// A replicate that failed or is invalid is shown, and withholds the verdict on its variant: numbers that come
// from the runs that happened to work are not a comparison. One that was disturbed (outliers.h) counts, and is shown.

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/contrast.h"
#include "harness/compare/statistics.h"
#include "harness/result/report.h"

namespace latchlab {

/// What one process came back with.
struct Replicate {
  std::string status;
  std::string reason;
  Json document;                     ///< null where there is none
  TrialResult trial;                 ///< that of the document; nothing was measured where there is none
  std::optional<double> per_second;  ///< only of runs that count: ok, noisy or degraded, and not interrupted
  std::optional<double>
      response_ns;  ///< of an open loop of a given rate: the 99th percentile; nothing where throughput judges
  std::vector<std::string> flags;

  [[nodiscard]] bool counts() const { return per_second.has_value(); }
  /// More is faster. Only of those that count.
  [[nodiscard]] double speed() const { return response_ns ? 1e9 / *response_ns : *per_second; }
};
void describe(Like<Replicate> auto& r, auto& field) {
  field.one_of("status", r.status, words_and<Status>({"interrupted", "unjudged"}),
               "of the document; failed too where there is none; unjudged: it does not say how fast it was");
  field("reason", r.reason, "why the status is not ok");
  field.present("per_second", r.per_second, ("a run that is " + r.status + " does not count").c_str(), "", kAboveZero);
  field.present("response_ns", r.response_ns, r.counts() ? "it is judged by its throughput" : "it does not count",
                "as that of the variant", kAboveZero);
  field("flags", r.flags, "what was out of line around it: steal, involuntary switches, load, frequency", kNotEmpty);
  field("document", r.document.is_null() ? OrReason<Json>::missing(r.reason) : OrReason<Json>(r.document),
        "as result.schema.json says");
}

/// What a result document says of its run; `failed` if it is none, with this reason.
[[nodiscard]] Replicate replicate_of(Json document, const std::string& why_not);

struct VariantSummary {
  std::string name;
  std::string command;
  std::vector<Replicate> replicates;
  OrReason<double> median;
  OrReason<Interval> quartiles;
  OrReason<double> response_ns;
  OrReason<Contrast> contrast;   ///< to the first variant, over blocks in which both count
  OrReason<Contrast> unflagged;  ///< the same over those in which neither is flagged
  OrReason<double> bytes_per_key;
  OrReason<double> page_bytes;
  OrReason<double> commits_per_begin;
  OrReason<double> fallback_rate;
  OrReason<double> zero_aborts_per_operation;
  std::string verdict;
  std::string withheld;
};
/// How many more would decide what these replicates do not, or why that is no answer.
[[nodiscard]] OrReason<u64> more_replicates(const VariantSummary& variant);
[[nodiscard]] std::vector<std::pair<std::string, u32>> statuses_of(const VariantSummary& variant);
/// Reasons of all replicates that are not ok, each once, and whether some ended since the index was full. Why one is
/// noisy its flags say.
[[nodiscard]] std::vector<std::string> reasons_of(const VariantSummary& variant);
void describe(Like<VariantSummary> auto& v, auto& field) {
  field("name", v.name, "", kNotEmpty);
  field("command", v.command, "its own options, or where its results are");
  field.one_of("verdict", v.verdict, words_and<Verdict>({"base", "withheld"}),
               "base is the first variant, with which the others are compared; differences under 1 % are none, or "
               "those within effect");
  field("withheld", v.withheld, "why the verdict is withheld");
  field("median_per_second", v.median, "", kAboveZero);
  field("quartiles", then(v.quartiles, ends_of), "of operations a second", kAboveZero);
  field("response_ns", v.response_ns,
        "what it is judged by in an open loop of a given rate: the 99th percentile of response times, the median; null "
        "where that is "
        "throughput",
        kAboveZero);
  field("ratio", then(v.contrast, &Contrast::ratio),
        "to the base, of throughputs or, inverted, of response times: median over the blocks in which both count, or "
        "the ratio of the "
        "medians",
        kAboveZero);
  field("interval", interval_of(v.contrast),
        "of the ratio, 95 %, by bootstrap; null of fewer than six pairs, or four replicates that nothing pairs",
        kAboveZero);
  field("probability", then(v.contrast, &Contrast::probability),
        "of ranks as uneven if both were alike: Wilcoxon if paired, else Mann-Whitney; corrected (Holm)", kUpToOne);
  field("compared", then(v.contrast, &Contrast::replicates), "replicates, or pairs, behind the ratio", kOneOrMore);
  field("more_replicates", more_replicates(v),
        "that would do, where the verdict is too noisy; where it cannot be decided here more than may be asked for "
        "would, as the reason "
        "says",
        kOneOrMore);
  field("unflagged", v.unflagged, "the same without the replicates that are flagged, and what they are paired with");
  field("bytes_per_key", v.bytes_per_key);
  field("page_bytes", v.page_bytes, "null too where the replicates differ");
  field("commits_per_begin", v.commits_per_begin, "", kUpToOne);
  field("fallback_rate", v.fallback_rate, "of all operations", kUpToOne);
  field("zero_aborts_per_operation", v.zero_aborts_per_operation, "aborts with status zero");
  field("statuses", statuses_of(v), "replicates of each status", kOneOrMore);
  field("reasons", reasons_of(v), "of all replicates that are not ok, each once; of noisy ones flags say it",
        kNotEmpty);
  field("replicates", v.replicates, "by block, where there are blocks");
}

struct Comparison {
  u64 seed = 0;
  std::string common;
  OrReason<u32> planned_blocks = OrReason<u32>::missing("the runs were not planned together");
  bool paired = true;
  double effect = 0;                     ///< a share; 0 where none was stated
  std::vector<std::vector<u32>> orders;  ///< the order of variants in each block
  std::string ended_by;
  std::vector<VariantSummary> variants;
  std::vector<std::string> notes;  ///< a line each
  bool interrupted = false;

  [[nodiscard]] std::vector<std::vector<std::string>> named_orders() const;
};
void describe(Like<Comparison> auto& c, auto& field) {
  field.about(
      "What is not known is null, and the property of the same name with _reason says why; it is never zero. Figures "
      "of a variant "
      "are medians over the replicates that count: those that are ok, noisy or degraded and were not interrupted.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("seed", c.seed, "of the orders and the intervals");
  field("common", c.common, "options of all variants");
  field("planned_blocks", c.planned_blocks, "null for results that were not planned together", kOneOrMore);
  field("paired", c.paired, "replicate i of all variants is of block i: compared block by block");
  field(
      "effect", c.effect,
      "a share of the base: a ratio whose whole interval is beyond it is a difference, one within it is none; 0 where "
      "none was stated",
      kUpToOne);
  field("ended_by", c.ended_by, "why --replicates=auto ended; empty where so many were asked for");
  field("notes", c.notes, "what else a reader should know", kNotEmpty);
  field("interrupted", c.interrupted, "ended early by a signal");
  field("orders", c.named_orders(), "names of the variants in the order in which each block ran them", kNotEmpty);
  field("variants", c.variants, "two or more, the base first");
}

/// Median, contrasts, flags, verdict and all other figures of every variant, from its replicates. The comparisons are
/// those of one command: the more there are, the more each must show.
void summarize(std::vector<Comparison>& comparisons);

/// Why there is no verdict on this variant, whatever its numbers are; empty if there can be one.
[[nodiscard]] std::string why_withheld(const Comparison& comparison, const VariantSummary& variant);

/// For people: the commands, then a line a variant (comparison_report.cc).
[[nodiscard]] std::string table_of(const Comparison& comparison);
/// All of one command, one below the other; what is noted of each of them is said once, at the end.
[[nodiscard]] std::string table_of(const std::vector<Comparison>& comparisons);

/// The document that comparison.schema.json describes; each replicate's own document is in it.
[[nodiscard]] Json json_of(const Comparison& comparison);
[[nodiscard]] std::string comparison_schema();

/// 0, 1 if a replicate failed, is invalid, says nothing of speed or is noisy or degraded with --strict, 130 if
/// interrupted.
[[nodiscard]] int exit_status(const Comparison& comparison);

}  // namespace latchlab
