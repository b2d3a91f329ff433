#pragma once

// `harness ab`: an interleaved comparison. A machine drifts (clocks, neighbours, page placement), so variants
// that are measured one after the other differ even if they are equal. Here a block runs every variant once,
// in random order, each in a fresh process of this binary, and only ratios within a block are compared:
//
//     block 0   | b | a | c |        ratio of b in block i:  b_i / a_i
//     block 1   | a | c | b |        reported: the median over blocks, and a 95 % bootstrap interval over
//     blocks
//     ...
//
// A replicate that failed or is invalid is shown, and withholds the verdict on its variant: numbers that come
// from the runs that happened to work are not a comparison.

#include <optional>
#include <string>
#include <vector>

#include "harness/cli.h"
#include "harness/progress.h"
#include "harness/report.h"
#include "harness/statistics.h"

namespace latchlab {

/// What one process came back with.
struct Replicate {
  std::string status;  ///< a status word of a result; "failed" where there is no document
  std::string reason;
  Json document;                     ///< null where there is none
  std::optional<double> per_second;  ///< only of runs that count: ok or degraded, and not interrupted
};

struct VariantSummary {
  std::string name;
  std::string command;                ///< its own options
  std::vector<Replicate> replicates;  ///< by block
  Measured<double> median;            ///< operations a second
  Measured<Interval> quartiles;
  Measured<double> ratio;  ///< to the first variant, over blocks in which both count
  Measured<Interval> interval;
  /// Medians over the replicates that count.
  Measured<double> bytes_per_key;
  Measured<double> page_bytes;  ///< missing where the replicates differ
  Measured<double> commits_per_begin;
  Measured<double> fallback_rate;
  Measured<double> zero_aborts_per_operation;  ///< aborts with status zero
  std::string verdict;                         ///< base (the first), faster, slower, undecided, withheld
  std::string withheld;                        ///< why there is no verdict
};

struct Comparison {
  u64 seed = 0;
  std::string common;  ///< options of all variants
  u32 planned_blocks = 0;
  std::vector<std::vector<u32>> orders;  ///< the order of variants in each block
  std::vector<VariantSummary> variants;
  bool interrupted = false;
};

/// Median, ratio, interval, verdict and all other figures of every variant, from its replicates.
void summarize(Comparison& comparison);

/// Runs one replicate in a fresh process; forwards a stop request to it.
[[nodiscard]] Replicate run_replicate(const std::string& binary, const std::vector<std::string>& args);

/// Runs the whole comparison.
[[nodiscard]] Comparison compare(const AbCommand& command, Progress& progress);

/// For people: the commands, then a line a variant (ab_report.cc).
[[nodiscard]] std::string table_of(const Comparison& comparison);

/// The document that ab.schema.json describes; each replicate's own document is in it.
[[nodiscard]] Json json_of(const Comparison& comparison);

/// 0, 1 if a replicate failed or is invalid, 130 if interrupted.
[[nodiscard]] int exit_status(const Comparison& comparison);

}  // namespace latchlab
