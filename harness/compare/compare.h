#pragma once

// `harness compare A B...` compares results that were measured earlier, in the way of `harness ab` (comparison.h). Each
// argument is a variant: a file or a folder of result documents. The documents decide the role of each option:
//
//   one word in each argument, not the same word in all              the variants differ in this option
//   several words in any argument (--threads=1..8)                   each combination of words is a point
//   the same one word in all                                         the option is common to all variants
//
// Each point is compared by itself. The replicates of a variant at a point are its documents there. Documents of blocks
// that ran interleaved (harness ab, harness experiment) are compared block by block.
//
// The seed makes no points: it chooses among operations that are meant to be equal, so runs that differ by it alone are
// replicates. Where each variant has one run for each of the same seeds, they are compared seed by seed. The two runs
// of a seed had the same operations, so what the seed itself costs is not in their ratio. Blocks go before seeds, since
// a block shares its time as well.
//
// Machines, builds, records and keys may differ: a user may want to know how much faster a new processor or an old
// commit is. Each comparison therefore lists these differences beside its verdict.

#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/config/commands.h"

namespace latchlab {

/// Returns one comparison for each point that the first argument and at least one other have. Throws InputError if
/// there is no such point, and for a document that is not a result.
[[nodiscard]] std::vector<Comparison> compare(const CompareCommand& command);

/// The documents of one argument, and its name.
struct ResultSet {
  std::string name;
  std::vector<Json> documents;
};
/// Compares documents that have been read already. Throws InputError for modelled ones beside measured ones, unless it
/// `mixes` them.
[[nodiscard]] std::vector<Comparison> compare(std::vector<ResultSet> sets, u64 seed, double effect = 0,
                                              bool mixes = false);

}  // namespace latchlab
