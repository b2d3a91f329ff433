// The search for the rate that --slo asks for, try after try (slo.h chooses the rates). The caller runs each try.
//
// A try that is cut short, by a signal or by a full index, does not keep the bound, since it lacks response times. The
// search ends with it without an answer; all tries stay in the result.
//
// An operation that came and was not served has no response time. It counts as longer than any measured one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/config/slo.h"
#include "harness/loop/histogram.h"
#include "harness/result/result.h"
#include "src/base/types.h"

namespace latchlab {

/// The result of a try at one rate.
struct Tried {
  double seconds = 0;     ///< time in which operations were offered
  OrReason<u64> offered;  ///< operations that came
  u64 served = 0;         ///< operations that had begun by the end, and were done
  Histogram responses;    ///< response times of the timed calls, ns
  bool late = false;      ///< the threads could not keep up with the rate
  bool whole = true;      ///< it came to its end
};

/// Tries rates with `try_at`, which returns nothing if no rate can be tried any more. `closed_per_second` is the
/// throughput of a closed loop. A rate below `least` has too few calls to say anything.
[[nodiscard]] SloSearch search_for_slo(const Slo& slo, double closed_per_second, u64 least,
                                       const std::function<std::optional<Tried>(u64 per_second)>& try_at);

/// Returns why the search has no rate that keeps the bound, in one line; empty if it has one. `full`: the index was
/// full at the end.
[[nodiscard]] std::string why_no_rate(const Slo& slo, const SloSearch& told, bool full);

/// Returns the lowest rate at which a try of `time_ns` times enough calls for the percentile to mean something. One
/// call in `latency_every` is timed. Returns 1 for a try without an end by time, since all its operations come at any
/// rate.
[[nodiscard]] u64 least_rate(const Slo& slo, u32 latency_every, u64 time_ns);

}  // namespace latchlab
