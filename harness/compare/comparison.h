#pragma once

// What a comparison came to, wherever its replicates are from: `harness ab` runs them (ab.h), `harness compare` reads them
// (compare.h). The first variant is the base; each of the others has a ratio to it with an interval, a test and a verdict
// (contrast.h).
//
//     block 0   | b | a | c |        ratio of b in block i:  b_i / a_i
//     block 1   | a | c | b |        reported: the median over blocks, and a 95 % bootstrap interval over
//     blocks
//     ...
//
// Where there are no blocks, it is the ratio of the medians.
//
// How fast a run was is its throughput; in an open loop of a given rate (--rate), where that is the rate whatever the index, it is
// the response time that 99 % of the operations did not exceed: the ratio is the base's to the variant's, so that more is faster
// either way. The rate of a search (--slo) counts if it keeps the bound. The two do not compare with each other.
//
// A replicate that failed or is invalid is shown, and withholds the verdict on its variant: numbers that come
// from the runs that happened to work are not a comparison. One that was disturbed (flags.h) counts, and is shown.

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/contrast.h"
#include "harness/compare/statistics.h"
#include "harness/result/report.h"

namespace latchlab {

/// What one process came back with.
struct Replicate {
  std::string status;  ///< a word of a result; "failed" where there is no document, "unjudged" if it says nothing of speed
  std::string reason;
  Json document;                     ///< null where there is none
  std::optional<double> per_second;  ///< only of runs that count: ok, noisy or degraded, and not interrupted
  std::optional<double> response_ns; ///< of an open loop of a given rate: the 99th percentile; nothing where throughput judges
  std::vector<std::string> flags;    ///< what was out of line around it

  [[nodiscard]] bool counts() const { return per_second.has_value(); }
  /// More is faster. Only of those that count.
  [[nodiscard]] double speed() const { return response_ns ? 1e9 / *response_ns : *per_second; }
};

/// What a result document says of its run; `failed` if it is none, with this reason.
[[nodiscard]] Replicate replicate_of(Json document, const std::string& why_not);

struct VariantSummary {
  std::string name;
  std::string command;                ///< its own options, or where its results are
  std::vector<Replicate> replicates;  ///< by block, where there are blocks
  Measured<double> median;            ///< operations a second
  Measured<Interval> quartiles;
  Measured<double> response_ns;       ///< by which it is judged, the median; missing where throughput judges
  Measured<Contrast> contrast;   ///< to the first variant, over blocks in which both count
  Measured<Contrast> unflagged;  ///< the same over those in which neither is flagged
  /// Medians over the replicates that count.
  Measured<double> bytes_per_key;
  Measured<double> page_bytes;  ///< missing where the replicates differ
  Measured<double> commits_per_begin;
  Measured<double> fallback_rate;
  Measured<double> zero_aborts_per_operation;  ///< aborts with status zero
  std::string verdict;                         ///< base (the first), a word of Verdict, withheld
  std::string withheld;                        ///< why there is no verdict
};

struct Comparison {
  u64 seed = 0;
  std::string common;        ///< options of all variants
  Measured<u32> planned_blocks = Measured<u32>::missing("the runs were not planned together");
  bool paired = true;        ///< replicate i of all variants is of block i
  std::vector<std::vector<u32>> orders;  ///< the order of variants in each block
  std::string ended_by;      ///< why there are not more replicates, one line; empty where so many were asked for
  std::vector<VariantSummary> variants;
  std::vector<std::string> notes;   ///< what else a reader should know, a line each
  bool interrupted = false;
};

/// Median, contrasts, flags, verdict and all other figures of every variant, from its replicates. The comparisons are those of
/// one command: the more there are, the more each must show.
void summarize(std::vector<Comparison>& comparisons);

/// Why there is no verdict on this variant, whatever its numbers are; empty if there can be one.
[[nodiscard]] std::string why_withheld(const Comparison& comparison, const VariantSummary& variant);

/// For people: the commands, then a line a variant (comparison_report.cc).
[[nodiscard]] std::string table_of(const Comparison& comparison);
/// All of one command, one below the other; what is noted of each of them is said once, at the end.
[[nodiscard]] std::string table_of(const std::vector<Comparison>& comparisons);

/// The document that comparison.schema.json describes; each replicate's own document is in it.
[[nodiscard]] Json json_of(const Comparison& comparison);

/// 0, 1 if a replicate failed, is invalid, says nothing of speed or is noisy or degraded with --strict, 130 if interrupted.
[[nodiscard]] int exit_status(const Comparison& comparison);

}  // namespace latchlab
