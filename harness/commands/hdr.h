// The latency histograms of results in the formats of HdrHistogram (G. Tene), which others' tools read and draw:
//
//   harness hdr RESULT          a log, version 1.3: a line a histogram, its name as a tag and its counts in base64
//   harness hdr RESULT NAME     the percentile distribution of one of them as text (.hgrm), of all results together
//
// Nothing is lost on the way. Ours has 32 buckets for every power of two, theirs with two significant digits 128: each
// of ours is a run of theirs and ends with one of theirs, into which its count goes. So their "highest equivalent
// value" is what our result says, in ns; of percentiles that fall between two calls some of their tools take the one
// before, where ours takes the later.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/result/report.h"
#include "src/base/types.h"

namespace latchlab {

/// The largest value of a bucket, and how many it holds; in ascending order, as Histogram::buckets gives them.
using Buckets = std::vector<std::pair<u64, u64>>;

/// HdrHistogram's compressed encoding, version 2, in base64: HISTFAAA...
[[nodiscard]] std::string hdr_encoded(const Buckets& buckets);

/// HdrHistogram's percentile distribution, five steps for each half of the distance to 100 %.
[[nodiscard]] std::string hdr_percentiles(const Buckets& buckets);

/// What `harness hdr` prints; "-" is standard input. `name`: empty for the log of all. Throws InputError for what is no
/// result, has no latencies, or none of this name.
[[nodiscard]] std::string hdr(const std::string& path, const std::string& name);

}  // namespace latchlab
