// Measurement: the facts that a run observed. run_trial.cc fills it phase after phase, and account.h turns it into the
// document. A test may fill one by hand.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/medium_speed.h"
#include "harness/host/on_processor.h"
#include "harness/host/pmu_events.h"
#include "harness/host/pmu_groups.h"
#include "harness/host/thread_team.h"
#include "harness/loop/latency.h"
#include "harness/loop/trial.h"
#include "harness/result/result.h"
#include "harness/trial/meter.h"
#include "harness/trial/phases.h"
#include "harness/trial/recorded_run.h"
#include "src/base/types.h"
#include "src/history/check_history.h"

namespace latchlab {

/// One thread in the measured phase.
struct MeasuredThread {
  SyncStats sync;                               ///< the policy's counts
  std::vector<PmuCount> events;                 ///< the count of each event; empty if no event is counted
  std::optional<ProcessorTime> processor_time;  ///< without the sleep at the ends of sections
  std::optional<ThreadWaits> waits;             ///< if the team counts them
  std::optional<u32> seen_on;                   ///< its processor at the end of the phase
};

/// The measured phase, which the document reports.
struct MeasuredPhase {
  u64 total = ~u64{0};   ///< operations it would have done without an end by time
  u64 left = ~u64{0};    ///< operations left in the stream when it began
  bool stopped = false;  ///< a signal stopped it
  Throughput metered;    ///< as far as the meter knows it
  double wall_seconds = 0;
  Meter::ContentionSeries contention;
  Tally done;
  std::optional<double> generator_ns;  ///< to make one request, since the run began; nothing if the kernel hides it
  std::vector<MeasuredThread> threads;
  SyncReport sync;  ///< summed over all threads
  std::vector<std::vector<PmuCount>> packages;
  std::optional<Latencies> latencies;  ///< summed over all threads, if calls are timed
  double clock_ns = 0;                 ///< measured time of an empty call
  std::optional<OfferedLoad> offer;    ///< none in a closed loop
  OrReason<ReclaimCounters> reclaim_before, reclaim_after;
  OrReason<FarUse> far_before, far_after;
  OrReason<u64> locked;  ///< bytes of the process that stay where they are, if there are two memories
  Disturbance before, after;
  PageUse pages;                             ///< at its end
  u64 accessed_cleared = 0;                  ///< how often Accessed bits were cleared
  std::optional<std::string> accessed_stay;  ///< why Accessed bits could not be cleared, if the kernel says so

  /// Returns how many operations were done; 0 if nothing was measured.
  [[nodiscard]] u64 operations() const { return metered.seconds > 0 ? metered.operations : 0; }
};

/// The recorded calls.
struct RecordedHistory {
  u64 room = 0, calls = 0, pending = 0;
  std::optional<std::string> ended_in;     ///< the phase in which a buffer was full, if one was
  double ended_s = 0;                      ///< seconds of recording until then
  OrReason<PreemptionCounts> preemptions;  ///< for --preempt
  std::optional<HistoryVerdict> verdict;   ///< for --validate=history
  std::string not_written;                 ///< why the file could not be written; empty if it was, or was not asked for
};

struct Measurement {
  // Observed before the first phase.
  OrReason<double> load_before;
  std::vector<std::string> disturbances;
  MallocServer malloc;
  PageUse pages_before;
  std::optional<KeySet::Lines> key_lines;  ///< if keys are the lines of a file
  u64 key_capacity = ~u64{0};
  u64 stream_size = ~u64{0};
  bool keeps = true, elides = false, finds_batches = true;  ///< the answers of the functions of Trial
  std::vector<PmuEvent> events;                             ///< the events that --pmu asks for

  // Observed while there are threads. A failure is the message of an exception, in one line; empty if there was none.
  std::string start_failure, join_failure, count_failure, leave_failure;
  bool pinned = true;                   ///< every thread that must be pinned is pinned
  std::vector<Phases::Outcome> phases;  ///< all phases in order, also those that need no threads
  bool loaded = false;                  ///< loading and verifying are complete, or left out
  u64 left = ~u64{0};                   ///< operations left in the stream after the warm-up
  Tally tally;                          ///< sum over all threads since the index was empty
  bool full = false;                    ///< an insert found no room
  std::optional<u64> keys_at_start;     ///< keys in the index when the measured phase began
  std::optional<MeasuredPhase> measured;
  std::optional<SloSearch> slo;  ///< the search for the rate that --slo asks for
  OrReason<std::vector<ResultRow>> rows;
  bool interrupted = false;

  // Observed when the threads have left.
  u64 live_bytes = 0, reserved_bytes = 0;       ///< bytes of the index
  OrReason<Footprint> value_bytes;              ///< bytes of sized values
  OrReason<FarUse> far;                         ///< the far memory at the end, or when a thread failed
  OrReason<MediumTimes> near_times, far_times;  ///< of two memories of values
  OrReason<bool> kernel_demotes;                ///< if there are two
  std::string lock_limit;                       ///< how much of far memory the kernel may lock
  OrReason<PageNodes> page_nodes;
  OrReason<PageNodes> far_page_nodes;  ///< of far memory
  OrReason<double> nodes_per_fetch;
  StreamPrint print;
  std::optional<Contents> contents;  ///< for --validate
  OrReason<RecordedHistory> history;
  Limits limits;

  /// Returns true if a thread threw an exception.
  [[nodiscard]] bool failed() const {
    return !(join_failure + count_failure).empty() ||
           std::ranges::any_of(phases, [](const auto& p) { return !p.failure.empty(); });
  }
  [[nodiscard]] u64 operations() const { return measured ? measured->operations() : 0; }
};

}  // namespace latchlab
