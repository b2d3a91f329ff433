// Runs requests in batches through a reservation station (sync/station.h, --station). The station is type-erased: one
// call of the session for the lookups of a batch, and one for its changes. While an automatic station is off, the hot
// loop runs the requests, as ever.
#pragma once

#include <atomic>
#include <memory>

#include "harness/loop/latency.h"
#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "src/base/batching.h"
#include "sync/station_options.h"

namespace latchlab {

/// The station of one thread.
class StationedRun {
 public:
  StationedRun() = default;
  StationedRun(const StationedRun&) = delete;
  StationedRun& operator=(const StationedRun&) = delete;
  virtual ~StationedRun() = default;

  /// Does what runner.run() does. The requests are lookups, inserts, updates, upserts, erasures, modifies and
  /// increments; `latencies` is null. Counts in the tally what the station was given, and what it made of that.
  virtual u32 run(Runner& runner, const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                  Latencies* latencies) = 0;
};

/// `numbers`: keys are numbers. `value_bits` are those of a value. Throws std::bad_alloc.
[[nodiscard]] std::unique_ptr<StationedRun> stationed_run(const StationOptions& options, const Batching& batch,
                                                          bool numbers, u32 value_bits);

}  // namespace latchlab
