// The search for the rate that --slo asks for, try after try (slo.h says which). How one rate is tried is the caller's.
//
// A try that was cut short, by a signal or by a full index, has kept nothing: its response times are those of a part.
// The search ends with it and says that it has no answer; what was tried until then stays in what it tells.
//
// A request that came and was not served has no response time. It counts as a longer one than any that was measured.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/config/slo.h"
#include "harness/loop/histogram.h"
#include "harness/result/result.h"
#include "src/base/types.h"

namespace latchlab {

/// What a try at one rate came to.
struct Tried {
  double seconds = 0;     ///< in which operations were offered
  OrReason<u64> offered;  ///< operations that came
  u64 served = 0;         ///< of them begun by the end, and done
  Histogram responses;    ///< of the timed calls, ns
  bool late = false;      ///< the threads could not bear the rate
  bool whole = true;      ///< it came to its end
};

/// Tries rates with `try_at`, which says nothing where none can be tried any more. `closed_per_second`: what a closed
/// loop does; `least`: no rate below it says anything.
[[nodiscard]] SloSearch search_for_slo(const Slo& slo, double closed_per_second, u64 least,
                                       const std::function<std::optional<Tried>(u64 per_second)>& try_at);

/// Why the search has no rate that keeps the bound, one line; empty where it has. `full`: the index was, as it ended.
[[nodiscard]] std::string why_no_rate(const Slo& slo, const SloSearch& told, bool full);

/// The rate at which a try of `time_ns`, one call in `latency_every` of which is timed, times just enough calls for the
/// percentile to mean something. Without an end by time all come, however few a second: 1.
[[nodiscard]] u64 least_rate(const Slo& slo, u32 latency_every, u64 time_ns);

}  // namespace latchlab
