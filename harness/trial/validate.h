// The index against the tally. While the run counts, nobody trusts the index; afterwards nobody uses it, so
// it can be walked over from end to end: as many keys as were inserted and not erased, the same ones (a sum
// of their hashes, which no order of events can change), each with a value of its own, and in strict order
// where there is one. An update that says yes and stores nothing is not seen here: any value of its key passes. Finding
// that is for the conformance suite and the race finder, which know every value.
#pragma once

#include <string>

#include "harness/loop/trial.h"
#include "harness/result/result.h"

namespace latchlab {

/// What went wrong inside the measured loop, in one line; empty if nothing did.
[[nodiscard]] std::string describe_errors(const Tally& tally);

/// Compares; `detail` names the first contradiction.
[[nodiscard]] Validation validate(const Tally& tally, const Contents& contents);

/// Nobody compared, because that was not asked for.
[[nodiscard]] Validation no_validation();

}  // namespace latchlab
