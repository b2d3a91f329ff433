// `harness hdr`: exports the latency histograms of results in the formats of HdrHistogram (G. Tene), which other tools
// read and draw:
//
//   harness hdr RESULT          a log, version 1.3: a line for each histogram, with its name as a tag, and its
//                               counts in base64
//   harness hdr RESULT NAME     the percentile distribution of one histogram as text (.hgrm), merged over all results
//
// The export loses nothing. Our histogram has 32 buckets for every power of two; HdrHistogram with two significant
// digits has 128. Each of our buckets covers a run of theirs, and its count goes into the last one of the run. So their
// "highest equivalent value" equals the value in our result, in ns. For a percentile that falls between two calls some
// of their tools take the earlier call; ours takes the later one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/result/report.h"
#include "src/base/types.h"

namespace latchlab {

/// Buckets in ascending order, as Histogram::buckets returns them: the largest value of each, and how many it holds.
using Buckets = std::vector<std::pair<u64, u64>>;

/// Returns HdrHistogram's compressed encoding, version 2, in base64: HISTFAAA...
[[nodiscard]] std::string hdr_encoded(const Buckets& buckets);

/// Returns HdrHistogram's percentile distribution, with five steps for each half of the distance to 100 %.
[[nodiscard]] std::string hdr_percentiles(const Buckets& buckets);

/// Returns the text that `harness hdr` prints. A path "-" is standard input; an empty `name` asks for the log. Throws
/// InputError for a file that is no result, has no latencies, or has none of this name.
[[nodiscard]] std::string hdr(const std::string& path, const std::string& name);

}  // namespace latchlab
