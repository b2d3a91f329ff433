#pragma once

// `harness compare A B...`: results that were measured before, compared as `harness ab` compares (comparison.h). Each
// argument is a variant: a file or a folder of documents. What is compared follows from the documents:
//
//   an option that is one word in each argument, and not the same in all     is what they differ in
//   an option with several words in any argument (--threads=1..8)            makes points: each is compared by itself
//   the rest                                                                 is common to all
//
// Replicates are the documents of an argument at one point. Where they are of blocks that ran interleaved (harness ab,
// harness experiment), they are compared block by block.
//
// Machines and builds may differ, and so may records or keys: somebody wants to know what a new processor or an old
// commit is worth. But no verdict is said without saying in what they differ.

#include <string>
#include <vector>

#include "harness/compare/comparison.h"
#include "harness/config/commands.h"

namespace latchlab {

/// One comparison for each point that the first argument and another one have. Throws InputError where there is none,
/// and for what is no result.
[[nodiscard]] std::vector<Comparison> compare(const CompareCommand& command);

/// The same of documents that are read already, those of each argument by its name.
struct ResultSet {
  std::string name;
  std::vector<Json> documents;
};
[[nodiscard]] std::vector<Comparison> compare(std::vector<ResultSet> sets, u64 seed, double effect = 0);

}  // namespace latchlab
