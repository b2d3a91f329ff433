// Checks the index against the tally. After the run no thread uses the index, so it is walked over from end to end:
//
//   1. it holds as many keys as were inserted and not erased;
//   2. it holds the same keys: a sum of their hashes, which does not depend on the order of events, is equal;
//   3. each value belongs to its key;
//   4. an ordered index has its keys in strict order.
//
// An update that returns true and stores nothing is not found here, since any value of its key passes. The conformance
// suite and the race finder find that: they know every value.
#pragma once

#include <string>

#include "harness/loop/trial.h"
#include "harness/result/result.h"

namespace latchlab {

/// Returns the mistakes that the hot loop counted, in one line; empty if there were none.
[[nodiscard]] std::string describe_errors(const Tally& tally);

/// Compares the contents with the tally; `detail` names the first contradiction.
[[nodiscard]] Validation validate(const Tally& tally, const Contents& contents);

/// Returns the validation of a run with --validate=off.
[[nodiscard]] Validation no_validation();

}  // namespace latchlab
