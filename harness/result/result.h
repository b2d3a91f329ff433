#pragma once

// Everything that the JSON document of one run says, as plain structs; report.cc turns them into the document
// and result.schema.json describes it. The rule of the house: what was not measured is null with a reason,
// never zero. So whatever may be missing is a Measured<T> (or_reason.h), which cannot be filled in by forgetting it.
//
//   RunResult            front end: who, when, which command, which build
//     Config config      what was asked for, resolved
//     MachineInfo        where it ran (environment.cc)
//     TrialResult        what the trial saw: placement, phases, throughput, sync, memory, limits, ...

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/config/config.h"
#include "harness/config/or_reason.h"
#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/placement.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "workloads/phases_file.h"
#include "workloads/wiscer.h"

namespace latchlab {

/// How far a result may be believed.
///   ok        measured as asked
///   noisy     measured as asked, but others had a thread's processor for a tenth of its time or more (on_processor.h)
///   degraded  measured, but not what the words promise (rtm without working RTM); the reason says in what
///   skipped   not run, because this point of a list makes no sense (two writers under `none`)
///   failed    could not be run to its end
///   invalid   run, but the index or its counters contradict what was done: the numbers mean nothing
enum class Status { kOk, kNoisy, kDegraded, kSkipped, kFailed, kInvalid };   // from the best to the worst
template <>
inline constexpr std::array kWords<Status>{"ok"sv, "noisy"sv, "degraded"sv, "skipped"sv, "failed"sv, "invalid"sv};
/// Whether a command of such runs ends with exit status 0. `strict`: as --strict asks, noisy and degraded ones do not.
[[nodiscard]] bool is_good(Status status, bool strict);

struct NamedCount {
  std::string name;
  u64 count = 0;
};

struct Placement {
  std::string requested;  ///< the word of --pin
  std::string mem;        ///< the word of --mem
  Measured<std::string> mem_by;  ///< "chunks": the index's mappings are placed; "threads": whatever these touch first
  Measured<PageNodes> page_nodes;
  std::vector<ThreadPlace> threads;
  Measured<u32> processors;       ///< distinct processors in use
  Measured<bool> oversubscribed;  ///< more threads than processors: allowed, said and recorded
};

/// A phase of the run in the order it happened: load, verify, warmup, measure, validate, ...
struct PhaseTime {
  std::string name;
  double seconds = 0;
  u64 operations = 0;
  Measured<double> per_second = Measured<double>::missing("this phase has no operations");
};

/// `name` is read, insert, update, upsert, erase or scan; `succeeded` counts those that found (changed) something, and of
/// upserts those that inserted.
struct OperationRate {
  std::string name;
  u64 count = 0;
  u64 succeeded = 0;
  double per_second = 0;
  u64 keys = 0;    ///< that multi-gets looked up; 0 of all others
  u64 found = 0;   ///< of those
};

/// What ended the measured phase.
enum class Ending {
  kTime,        ///< --time
  kOperations,  ///< --ops
  kRecords,     ///< insert has inserted all its records
  kWorkload,    ///< all operations of a trace, or of a file of phases, are done
  kFull,        ///< an insert found no room, and the index may not grow
  kSignal       ///< an interruption
};
template <>
inline constexpr std::array kWords<Ending>{"time"sv, "operations"sv, "records"sv, "workload"sv, "full"sv, "signal"sv};

/// Of the measured phase. Rates are operations a second, all over the same `seconds`: those in which all
/// threads ran operations, by the clock on the wall (rounds.h). Only the making of operations is left out,
/// which all threads do at the same time; with more threads than processors nothing is.
struct Throughput {
  u64 operations = 0;
  double seconds = 0;
  double timed_share = 0;  ///< of the wall time from the first operation's beginning to the last one's end
  double per_second = 0;   ///< operations / seconds
  Ending ended_by = Ending::kTime;
  std::vector<OperationRate> per_operation;
  u64 interval_ns = 0;  ///< length of the intervals of `series`; the last, partial one is left out
  std::vector<double> series;
  std::vector<double> per_thread;
  Measured<double> jain;          ///< fairness: (sum x)^2 / (n sum x^2), 1 when all threads did the same
  Measured<double> generator_ns;  ///< what making one operation cost a thread, warm-up included, in time of a processor
};

/// How long calls took. A percentile is the time that so many percent did not exceed; those that no call lies beyond are left
/// out.
struct LatencySummary {
  u64 count = 0;
  double mean_ns = 0;
  u64 min_ns = 0;
  u64 max_ns = 0;
  std::vector<std::pair<double, u64>> percentiles;   ///< percent, ns
  std::vector<std::pair<u64, u64>> histogram;        ///< the largest time of a bucket, ns, and its calls
};

/// The timed calls of one kind of operation.
struct OperationLatency {
  std::string name;
  LatencySummary summary;
  Measured<LatencySummary> response;          ///< from when they were due, in an open loop
  Measured<u64> fallbacks;                    ///< in these calls
  Measured<std::vector<NamedCount>> aborts;   ///< in these calls, by cause
};

/// Of single calls in the measured phase (latency.h).
struct Latency {
  double clock_ns = 0;   ///< what an empty call takes, by the same clock: in every time
  /// Timed calls' part of the time in which threads ran operations, 0..1. What it is more than their part of the operations, timing
  /// costs a closed loop; and more, where so many are timed that their neighbours hardly overlap either.
  double share_of_time = 0;
  LatencySummary all;
  Measured<double> per_key_ns;          ///< the mean over the keys of a call, where every call has so many
  Measured<LatencySummary> response;    ///< of all, from when they were due, in an open loop
  std::vector<OperationLatency> operations;
  Measured<LatencySummary> fell_back;   ///< calls in which an operation fell back, where there are others
};

/// How an open loop went (open_loop.h).
struct Offer {
  double per_second = 0;   ///< operations that were to come, on average, over the seconds of the measured phase; of a trace that came
  Measured<u64> arrivals;  ///< operations that came in them
  Lag lag;                 ///< the largest of all threads
  bool late = false;       ///< what waited at the end is a queue that grows: response times say how long it was looked at
};

/// How a bound was looked for (slo.h).
struct SloSearch {
  struct Try {
    u64 per_second = 0;        ///< operations that came, on average
    double done_per_second = 0;
    Measured<u64> response_ns; ///< at the percentile of the bound
    bool late = false;         ///< the threads could not bear the rate
    bool cut = false;          ///< it was cut short
    bool kept = false;
  };
  RateSearch::Answer answer = RateSearch::Answer::kFound;
  double closed_per_second = 0;   ///< of a closed loop, before
  std::vector<Try> tries;         ///< of the last one are the numbers of the result; one at least
};

/// What the policy counted over all threads in the measured phase.
struct SyncStats {
  using Options = std::vector<std::pair<std::string, std::string>>;
  using Counts = std::vector<NamedCount>;
  Options options;            ///< every option of the policy as it was in effect
  Measured<Counts> counters;  ///< all named counters of the policy but those of aborts
  Measured<Counts> aborts;         ///< by cause
  Measured<Counts> abort_statuses; ///< by the bits of the status that the processor gave, those that there were
  /// Of what could be elided (operations; of hybrid: changes) the share that was not, 0..1; 1 where transactions do not work.
  /// Of `adaptive` with those that took the lock by choice: counters.direct_lock.
  Measured<double> fallback_rate;
  Measured<double> restart_rate;   ///< restarts an operation
  /// Aborts an operation, fallbacks of what could be elided, restarts an operation in the intervals of Throughput::series: those
  /// that the policy counts. Intervals in which there was nothing to take a share of have the rate of the next in which there
  /// was, joined; at the end they are left out.
  struct Series {
    std::string name;
    std::vector<double> rates;
  };
  Measured<std::vector<Series>> series;
  Measured<std::vector<Counts>> per_thread;   ///< counters and aborts of each thread
  /// Blocks that were retired and freed in the measured phase and how often they piled up (stalled);
  /// `pending` are those that were waiting at its end.
  Measured<Counts> reclaim;
};

/// The lines of a key file.
struct KeyFile {
  u64 lines = 0;
  u64 empty = 0;     ///< of them skipped because nothing is on them
  u64 repeated = 0;  ///< of them equal to an earlier one: one record
};

struct MemoryUse {
  Measured<MallocServer> malloc;   ///< who served the calls, where a node is a call of malloc
  Measured<u64> index_live;        ///< bytes in blocks of the index after the measured phase
  Measured<u64> index_reserved;    ///< bytes that the index holds from the system, free ones included
  Measured<u64> payload;           ///< bytes of the payloads apart from the index (payloads.h)
  Measured<u64> keys;              ///< keys in the index at that time
  /// Keys in the index as the measured phase began: the records and what the warm-up has inserted or erased.
  Measured<u64> keys_at_start;
  Measured<double> bytes_per_key;  ///< index_reserved / keys: everything included
  /// Of the memory that the process got from before the first phase to the end of the measured one. Most of
  /// it is the index, but threads' operations and whatever else the harness keeps are in it too.
  Measured<u64> page_bytes;     ///< 4096, or 2 MiB when most of that memory was on huge pages: as observed
  Measured<double> huge_share;  ///< the share of that memory on huge pages, 0..1
  Measured<u64> rss;
  Measured<u64> minor_faults;  ///< in the measured phase
  Measured<u64> major_faults;
  Measured<u64> accessed_cleared;   ///< how often the Accessed bits of all pages were cleared in the measured phase
};

/// An event that was counted while threads ran operations of the measured phase, summed over the threads. Energy is of whole
/// packages and of the phase on the wall.
struct PmuTotal {
  std::string here;         ///< what the event is on this processor, in libpfm4's words
  bool user_only = false;   ///< without what happened in the kernel, which lets nobody count that
  u64 raw = 0;
  double scaled = 0;        ///< raw * enabled / running, thread by thread
  u64 enabled_ns = 0;
  u64 running_ns = 0;       ///< less than enabled where events took turns on the processor's counters
  double per_operation = 0;   ///< scaled / operations
};

struct PmuResult {
  struct Event {
    std::string name;
    std::string family;
    Measured<PmuTotal> total;
  };
  std::vector<Event> events;
  std::vector<std::pair<std::string, double>> derived;   ///< ratios both parts of which are there
};

/// What disturbed the measured phase, over the whole process.
struct Health {
  Measured<u64> voluntary_switches;
  Measured<u64> involuntary_switches;
  Measured<u64> migrations;
  Measured<double> steal_share;    ///< of all processor time, taken by the hypervisor
  /// Of the time in which a thread could have run, the share in which it did, 0..1: of the thread that had least (on_processor.h).
  Measured<double> on_processor;
  Measured<double> load_before;    ///< load average of one minute before the run
  std::vector<std::string> notes;  ///< e.g. "DAMON is running: it aborts transactions"
};

struct Validation {
  Validate mode = Validate::kTally;
  Measured<bool> passed;
  Measured<u64> expected_keys;
  Measured<u64> found_keys;
  std::string detail;  ///< of a mismatch, one line
};

/// The measured phase in rows of so many operations, or phases of the workload's file (rows.h).
struct Rows {
  struct Row {
    std::string name;   ///< of the workload's phase; empty where rows are of so many operations
    u64 operations = 0;
    double seconds = 0;
    Measured<double> nodes_per_fetch;   ///< of lookups just before the end of the row
    std::vector<std::pair<std::string, double>> events;   ///< "family.name" and scaled count of those that are counted
  };
  std::vector<Row> rows;
};

/// What tells that two runs did the same operations: a hash of the first of the workload (workloads/stream.h), the same
/// for every number of threads, index and policy.
struct StreamPrint {
  static constexpr u64 kMost = 1'000'000;
  u64 operations = 0;   ///< that it is of, at most kMost
  u64 fingerprint = 0;
};

/// What a trace is, wherever it lies.
struct TraceAbout {
  u64 checksum = 0, operations = 0, keys = 0, loaded = 0;
  bool has_times = false;
};

/// What a trial hands back.
struct TrialResult {
  Status status = Status::kOk;
  std::string reason;        ///< why the status is not ok, one line
  bool interrupted = false;  ///< ended early by a signal; the numbers cover the part that ran
  Measured<KeyFile> key_file;
  Measured<TraceAbout> trace;
  Measured<WiscerFile> wiscer;
  Measured<std::vector<WorkloadPhase>> workload_phases;   ///< of a file of phases
  Measured<StreamPrint> stream;
  Placement placement;
  std::vector<PhaseTime> phases;   ///< of the run
  Measured<Throughput> throughput;
  Measured<Rows> rows;
  Measured<Latency> latency;
  Measured<Offer> offer;
  Measured<SloSearch> slo;
  /// Nodes that a lookup of the workload visits, as the index is after the measured phase, where the index counts them.
  Measured<double> nodes_per_fetch;
  SyncStats sync;
  Measured<PmuResult> pmu;
  MemoryUse memory;
  Limits limits;
  Health health;
  Validation validation;

  /// The worst status wins, and of equals the first; but in what a result is degraded is all said. Under a worse status why it is
  /// noisy becomes a note, since its numbers are noisy all the same.
  void worsen(Status to, const std::string& why);
  void add_phase(const std::string& name, double seconds, u64 operations);
};

/// Gives what only the measured phase could have measured this reason.
void nothing_measured(TrialResult& result, const std::string& why);

/// An index that keeps nothing has no bytes, no keys to check, and no footprint of which to measure the limit.
void nothing_kept(TrialResult& result);

struct BuildInfo {
  std::string commit;
  bool dirty = false;
  std::string compiler;
  std::string flags;
  std::string type;
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name, version
};

struct RunResult {
  static constexpr u32 kSchemaVersion = 10;
  std::string run_id;      ///< unique: time, process, counter
  std::string point_hash;  ///< equal for replicates of one point, on any machine
  std::string started;     ///< UTC, ISO 8601
  std::vector<std::string> command;
  Config config;
  BuildInfo build;
  MachineInfo machine;
  TrialResult trial;
};

}  // namespace latchlab
