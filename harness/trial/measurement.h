// What a run observed, as plain facts: run_trial.cc fills it phase after phase, and account.h makes the document of it.
// A test may fill one by hand.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/on_processor.h"
#include "harness/host/pmu_events.h"
#include "harness/host/pmu_groups.h"
#include "harness/loop/latency.h"
#include "harness/loop/trial.h"
#include "harness/result/result.h"
#include "harness/trial/meter.h"
#include "harness/trial/phases.h"
#include "src/base/types.h"

namespace latchlab {

/// One thread in the measured phase.
struct MeasuredThread {
  SyncStats sync;                               ///< what the policy counted
  std::vector<PmuCount> events;                 ///< of each event; none where none is counted
  std::optional<ProcessorTime> processor_time;  ///< but for what it slept at the end of a section
  std::optional<u32> seen_on;                   ///< the processor, at its end
};

/// The phase that is reported.
struct MeasuredPhase {
  u64 total = ~u64{0};   ///< operations that there would have been without an end by time
  u64 left = ~u64{0};    ///< of the stream, as it began
  bool stopped = false;  ///< by a signal
  Throughput metered;    ///< what the meter knows of it
  double wall_seconds = 0;
  Meter::ContentionSeries contention;
  Tally done;
  std::optional<double> generator_ns;  ///< of an operation, since the run began; nothing where the kernel does not tell
  std::vector<MeasuredThread> threads;
  SyncReport sync;  ///< of all threads
  std::vector<std::vector<PmuCount>> packages;
  std::optional<Latencies> latencies;  ///< of all threads, where calls are timed
  double clock_ns = 0;                 ///< what timing an empty call says
  std::optional<OfferedLoad> offer;    ///< none: a closed loop
  OrReason<ReclaimCounters> reclaim_before, reclaim_after;
  Disturbance before, after;
  PageUse pages;                             ///< at its end
  u64 accessed_cleared = 0;                  ///< how often
  std::optional<std::string> accessed_stay;  ///< why they are not cleared, where they are to be and the kernel says it

  /// 0 where nothing was measured.
  [[nodiscard]] u64 operations() const { return metered.seconds > 0 ? metered.operations : 0; }
};

struct Measurement {
  // Before anything is done.
  OrReason<double> load_before;
  std::vector<std::string> disturbances;
  MallocServer malloc;
  PageUse pages_before;
  std::optional<KeySet::Lines> key_lines;  ///< where keys are the lines of a file
  u64 key_capacity = ~u64{0};
  u64 stream_size = ~u64{0};
  bool keeps = true, elides = false, finds_batches = true;  ///< as Trial says
  std::vector<PmuEvent> events;                             ///< that are asked for

  // While there are threads. A failure is what was thrown, one line; empty where nothing was.
  std::string start_failure, join_failure, count_failure, leave_failure;
  bool pinned = true;                   ///< as far as the seats ask for it
  std::vector<Phases::Outcome> phases;  ///< of the run, in order, with those that need no threads
  bool loaded = false;                  ///< that and verifying came to their ends, or are left out
  u64 left = ~u64{0};                   ///< operations of the stream, after the warm-up
  Tally tally;                          ///< of all threads since the index was empty
  bool full = false;                    ///< an insert found no room
  std::optional<u64> keys_at_start;     ///< of the measured phase
  std::optional<MeasuredPhase> measured;
  std::optional<SloSearch> slo;  ///< what it was told, where a bound is looked for
  OrReason<std::vector<ResultRow>> rows;
  bool interrupted = false;

  // When they have left.
  u64 live_bytes = 0, reserved_bytes = 0;  ///< of the index
  OrReason<PageNodes> page_nodes;
  OrReason<double> nodes_per_fetch;
  StreamPrint print;
  std::optional<Contents> contents;  ///< where they are asked for
  Limits limits;

  /// Whether a thread threw something.
  [[nodiscard]] bool failed() const {
    return !(join_failure + count_failure).empty() ||
           std::ranges::any_of(phases, [](const auto& p) { return !p.failure.empty(); });
  }
  [[nodiscard]] u64 operations() const { return measured ? measured->operations() : 0; }
};

}  // namespace latchlab
