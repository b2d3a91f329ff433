#pragma once

// The result of a comparison. `harness ab` runs its replicates (ab.h); `harness compare` reads them (compare.h). The
// first variant is the base. Each other variant has a ratio to the base, with an interval, a test and a verdict
// (contrast.h).
//
//     block 0   | b | a | c |        ratio of b in block i:  b_i / a_i
//     block 1   | a | c | b |        reported: the median over blocks, and a 95 % bootstrap interval over blocks
//     ...
//
// Results of the same seeds are compared in the same way (compare.h). Replicates without blocks and without common
// seeds have the ratio of the medians instead.
//
// The speed of a run depends on its loop:
//
//   closed loop              its throughput
//   open loop with --rate    the 99th percentile of its response times. Its throughput is the rate, for any index. The
//                            ratio is the base's time over the variant's, so more is faster here too
//   open loop with --slo     the rate that the search found, if that rate keeps the bound
//
// A response time does not compare with a throughput.
//
// A replicate that failed or is invalid is shown, and withholds the verdict on its variant. Without this rule the
// verdict would come from the runs that happened to work. A replicate that is an outlier (outliers.h) counts, and is
// shown.

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/contrast.h"
#include "harness/compare/statistics.h"
#include "harness/result/report.h"

namespace latchlab {

/// The result of one process.
struct Replicate {
  std::string status;
  std::string reason;
  Json document;                     ///< null where there is none
  TrialResult trial;                 ///< read from the document; empty without one
  std::optional<double> per_second;  ///< throughput, of a run that counts: ok, noisy or degraded, and not interrupted
  /// The 99th percentile of response times, in an open loop with --rate; empty where throughput is the speed.
  std::optional<double> response_ns;
  std::vector<std::string> flags;

  [[nodiscard]] bool counts() const { return per_second.has_value(); }
  /// Returns a number that is greater for a faster run. The replicate must count.
  [[nodiscard]] double speed() const { return response_ns ? 1e9 / *response_ns : *per_second; }
};
void describe(Like<Replicate> auto& r, auto& field) {
  field.one_of("status", r.status, words_and<Status>({"interrupted", "unjudged"}),
               "status of the document; failed without a document; unjudged if the document has no speed");
  field("reason", r.reason, "why the status is not ok");
  field.present("per_second", r.per_second, ("a run that is " + r.status + " does not count").c_str(), "", kAboveZero);
  field.present("response_ns", r.response_ns, r.counts() ? "its speed is its throughput" : "it does not count",
                "99th percentile of response times, in an open loop with --rate", kAboveZero);
  field("flags", r.flags,
        "reasons why the replicate is an outlier: steal, time on the processors, switches, load, frequency", kNotEmpty);
  field("document", r.document.is_null() ? OrReason<Json>::missing(r.reason) : OrReason<Json>(r.document),
        "result document, as result.schema.json describes it");
}

/// Returns the replicate that a result document describes. For anything else its status is `failed`, for the reason
/// `why_not`.
[[nodiscard]] Replicate replicate_of(Json document, const std::string& why_not);

/// One variant: its replicates, and the figures made of them.
struct VariantSummary {
  std::string name;
  std::string command;
  std::vector<Replicate> replicates;
  OrReason<double> median;
  OrReason<Interval> quartiles;
  OrReason<double> response_ns;
  OrReason<Contrast> contrast;   ///< ratio to the base, over the blocks in which both count
  OrReason<Contrast> unflagged;  ///< the same, over the blocks in which neither is an outlier
  OrReason<double> bytes_per_key;
  OrReason<double> page_bytes;
  OrReason<double> commits_per_begin;
  OrReason<double> fallback_rate;
  OrReason<double> zero_aborts_per_operation;
  std::string verdict;
  std::string withheld;
};
/// Returns how many more replicates would decide the verdict, or the reason why there is no such number.
[[nodiscard]] OrReason<u64> more_replicates(const VariantSummary& variant);
/// Returns each status with the number of its replicates.
[[nodiscard]] std::vector<std::pair<std::string, u32>> statuses_of(const VariantSummary& variant);
/// Returns the reasons of all replicates that are not ok, each once, and says if a run ended because the index was
/// full. The reasons of noisy replicates are left out: `flags` has them.
[[nodiscard]] std::vector<std::string> reasons_of(const VariantSummary& variant);
void describe(Like<VariantSummary> auto& v, auto& field) {
  field("name", v.name, "", kNotEmpty);
  field("command", v.command, "options of this variant only, or the file or folder of its results");
  field.one_of("verdict", v.verdict, words_and<Verdict>({"base", "withheld"}),
               "verdict on the ratio; base marks the first variant; a difference under 1 %, or within effect, is no "
               "difference");
  field("withheld", v.withheld, "reason why the verdict is withheld");
  field("median_per_second", v.median, "", kAboveZero);
  field("quartiles", then(v.quartiles, ends_of), "quartiles of operations per second", kAboveZero);
  field("response_ns", v.response_ns,
        "median of the 99th percentiles of response times, in an open loop with --rate; null where the speed is the "
        "throughput",
        kAboveZero);
  field("ratio", then(v.contrast, &Contrast::ratio),
        "speed over that of the base: the median over the blocks in which both count, or the ratio of the medians; the "
        "speed is the throughput, or one over the response time",
        kAboveZero);
  field("interval", interval_of(v.contrast),
        "95 % bootstrap interval of the ratio; null for fewer than six pairs, or fewer than four unpaired replicates",
        kAboveZero);
  field("probability", then(v.contrast, &Contrast::probability),
        "p-value of the test: Wilcoxon if paired, else Mann-Whitney; corrected by Holm's method", kUpToOne);
  field("compared", then(v.contrast, &Contrast::replicates), "number of replicates, or pairs, behind the ratio",
        kOneOrMore);
  field("more_replicates", more_replicates(v),
        "number of further replicates that would decide, where the verdict is too noisy; null otherwise", kOneOrMore);
  field("unflagged", v.unflagged,
        "the contrast without flagged replicates and the replicates that are paired with them");
  field("bytes_per_key", v.bytes_per_key);
  field("page_bytes", v.page_bytes, "page size; null if the replicates differ");
  field("commits_per_begin", v.commits_per_begin, "", kUpToOne);
  field("fallback_rate", v.fallback_rate, "share of the operations that could be elided but were not", kUpToOne);
  field("zero_aborts_per_operation", v.zero_aborts_per_operation, "aborts with status zero, per operation");
  field("statuses", statuses_of(v), "number of replicates of each status", kOneOrMore);
  field("reasons", reasons_of(v),
        "reasons of all replicates that are neither ok nor noisy, each once; flags has those of noisy ones", kNotEmpty);
  field("replicates", v.replicates, "replicates, in the order of blocks if there are blocks, or of common seeds");
}

/// A comparison of variants at one point.
struct Comparison {
  u64 seed = 0;
  std::string common;
  OrReason<u32> planned_blocks = OrReason<u32>::missing("the runs were not planned together");
  std::string paired_by = "block";       ///< "block" or "seed"; empty if the replicates are not paired
  double effect = 0;                     ///< share of the base; 0 if the user stated none
  std::vector<std::vector<u32>> orders;  ///< the order of variants in each block
  std::string ended_by;
  std::vector<VariantSummary> variants;
  std::vector<std::string> notes;  ///< one line each
  bool interrupted = false;

  [[nodiscard]] bool paired() const { return !paired_by.empty(); }
  [[nodiscard]] std::vector<std::vector<std::string>> named_orders() const;
};
void describe(Like<Comparison> auto& c, auto& field) {
  field.about(
      "An unknown value is null, never zero; the property of the same name with _reason says why. Figures of a variant "
      "are medians over the replicates that count: those that are ok, noisy or degraded and were not interrupted.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("seed", c.seed, "seed of the orders and the intervals");
  field("common", c.common, "options that all variants share");
  field("planned_blocks", c.planned_blocks, "number of planned blocks; null for results that were not planned together",
        kOneOrMore);
  field("paired", c.paired(), "true if the replicates of the variants are compared pair by pair, as paired_by says");
  field.one_of(
      "paired_by", c.paired_by, std::vector<std::string>{"block", "seed", ""},
      "block if replicate i of each variant ran in block i; seed if it had the same seed; empty if not paired");
  field("effect", c.effect,
        "stated effect, a share of the base: an interval wholly beyond it is a difference, one wholly within it is "
        "none; 0 "
        "if none was stated",
        kUpToOne);
  field("ended_by", c.ended_by, "reason why --replicates=auto ended; empty for a given number of replicates");
  field("notes", c.notes, "remarks on the comparison as a whole", kNotEmpty);
  field("interrupted", c.interrupted, "true if a signal ended the comparison early");
  field("orders", c.named_orders(), "names of the variants in the order in which each block ran them", kNotEmpty);
  field("variants", c.variants, "variants, two or more, the base first");
}

/// Computes median, contrasts, outliers, verdict and all other figures of every variant from its replicates. The
/// comparisons are those of one command, and their tests are corrected together.
void summarize(std::vector<Comparison>& comparisons);

/// Returns the reason why this variant has no verdict; empty if it has one.
[[nodiscard]] std::string why_withheld(const Comparison& comparison, const VariantSummary& variant);

/// Returns the text for people: the commands, then one line for each variant (comparison_report.cc).
[[nodiscard]] std::string table_of(const Comparison& comparison);
/// Returns the texts of all comparisons of one command. Notes that all of them share stand once, at the end.
[[nodiscard]] std::string table_of(const std::vector<Comparison>& comparisons);

/// Returns the document that comparison.schema.json describes. It contains the document of each replicate.
[[nodiscard]] Json json_of(const Comparison& comparison);
[[nodiscard]] std::string comparison_schema();

/// Returns the exit status:
///   130   the comparison was interrupted
///   1     a replicate does not count, or is noisy or degraded and ran with --strict
///   0     otherwise
[[nodiscard]] int exit_status(const Comparison& comparison);

}  // namespace latchlab
