#pragma once

// Everything that is known about one run. The document that a run leaves behind is a RunResult as JSON: each struct is
// described once, beside it (fields.h), and writer, reader and result.schema.json follow. The rule of the house: what
// was not measured is null with a reason, never zero. So whatever may be missing is a OrReason<T> (or_reason.h), which
// cannot be filled in by forgetting it.
//
//   RunResult            front end: who, when, which command, which build
//     Plan               what was asked for, and what follows from it          its fields, and those of structs from
//     MachineInfo        where it ran (environment.cc)                         other rooms, are in described.h
//     TrialResult        what the trial saw: placement, phases, throughput, sync, memory, limits, ...

#include <string>
#include <utility>
#include <vector>

#include "harness/config/plan.h"
#include "harness/config/or_reason.h"
#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/placement.h"
#include "harness/result/call_times.h"
#include "harness/result/described.h"
#include "harness/result/fields.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/reclaim/reclaimer.h"
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
enum class Status { kOk, kNoisy, kDegraded, kSkipped, kFailed, kInvalid };  // from the best to the worst
template <>
inline constexpr std::array kWords<Status>{"ok"sv, "noisy"sv, "degraded"sv, "skipped"sv, "failed"sv, "invalid"sv};
/// Whether a command of such runs ends with exit status 0. `strict`: as --strict asks, noisy and degraded ones do not.
[[nodiscard]] bool is_good(Status status, bool strict);

/// What --mem places: the index's mappings, or whatever the run's threads touch first, malloc's memory in it.
enum class PlacedBy { kChunks, kThreads };
template <>
inline constexpr std::array kWords<PlacedBy>{"chunks"sv, "threads"sv};

struct Placement {
  std::string requested;  ///< the word of --pin
  std::string mem;        ///< the word of --mem
  OrReason<PlacedBy> mem_by;
  OrReason<PageNodes> page_nodes;
  std::vector<ThreadPlacement> threads;
  OrReason<u32> processors;
  OrReason<bool> oversubscribed;  ///< more threads than processors: allowed, said and recorded
};
void describe(Like<Placement> auto& p, auto& field) {
  field("requested", p.requested);
  field("processors", p.processors, "distinct ones in use", kOneOrMore);
  field("oversubscribed", p.oversubscribed);
  field.group("memory", [&](auto& memory) {
    memory("requested", p.mem);
    memory("by", p.mem_by,
           "what is placed: the index's mappings, or whatever the run's threads touch first, malloc's memory in it");
    memory("observed", p.page_nodes);
  });
  field("threads", p.threads);
}

/// A phase of the run in the order it happened: load, verify, warmup, measure, validate, ...
struct PhaseTime {
  std::string name;
  double seconds = 0;
  u64 operations = 0;
  OrReason<double> per_second = OrReason<double>::missing("this phase has no operations");
};
void describe(Like<PhaseTime> auto& p, auto& field) {
  field("name", p.name);
  field("seconds", p.seconds);
  field("operations", p.operations);
  field("per_second", p.per_second);
}

/// `name` is the word of an OpKind.
struct OperationRate {
  std::string name;
  u64 count = 0;
  u64 succeeded = 0;
  double per_second = 0;
  u64 keys = 0;
  u64 found = 0;
};
void describe(Like<OperationRate> auto& r, auto& field) {
  field("count", r.count);
  field("succeeded", r.succeeded, "found or changed something; of upserts: inserted; of multi-gets: found all");
  field("per_second", r.per_second);
  field.where(r.keys > 0, "keys", r.keys, "that multi-gets looked up", kOneOrMore);
  field.where(r.keys > 0, "found", r.found, "of those");
}
auto& named_value(Like<OperationRate> auto& named) { return named; }

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

/// How many operations the measured phase did, and how fast (rounds.h).
struct Throughput {
  u64 operations = 0;
  double seconds = 0;
  double timed_share = 0;
  double per_second = 0;
  Ending ended_by = Ending::kTime;
  std::vector<OperationRate> per_operation;
  u64 interval_ns = 0;
  std::vector<double> series;
  std::vector<double> per_thread;
  OrReason<double> jain;
  OrReason<double> generator_ns;
};
void describe(Like<Throughput> auto& t, auto& field) {
  field.about("of the measured phase; rates are operations a second, all over the same seconds");
  field("operations", t.operations);
  field("seconds", t.seconds,
        "wall time in which threads ran operations, in rounds: all make their next operations at the same time, which "
        "is left out, "
        "then all run them at the same time, until one is through and the others stop within 64 operations. A round "
        "lasts from the "
        "last one's being ready to a thread's stop, averaged over the threads. With more threads than processors there "
        "are no rounds "
        "and nothing is left out: wall time from the first thread's beginning to the last one's end",
        kAboveZero);
  field("timed_share", t.timed_share,
        "seconds / wall time of the whole phase: throughput with the making of operations is per_second times this",
        Bounds{.most = 1, .above = true});
  field("per_second", t.per_second, "operations / seconds", kAboveZero);
  field("ended_by", t.ended_by,
        "--time, --ops, insert has no more records, the operations of a trace or a file of phases are done, an insert "
        "found no room in "
        "an index that may not grow, an interruption");
  field("per_operation", t.per_operation);
  field.seconds("interval_s", t.interval_ns, "of series; the last, partial one is left out");
  field("series", t.series);
  field("per_thread", t.per_thread, "over the same seconds: their sum is per_second");
  field("jain", t.jain,
        "fairness of x, the threads' operations: (sum x)^2 / (n sum x^2), 1 when all threads did the same", kUpToOne);
  field("generator_ns", t.generator_ns,
        "what making one operation costs a thread, warm-up included, in time of a processor");
}

/// What the policy counted over all threads in the measured phase.
struct SyncStats {
  using Options = std::vector<std::pair<std::string, std::string>>;
  using Counts = std::vector<NamedCount>;
  using Series = std::pair<std::string, std::vector<double>>;  ///< its name, and a rate an interval
  Options options;
  OrReason<Counts> counters;
  OrReason<Counts> aborts;
  OrReason<Counts> abort_statuses;
  OrReason<double> fallback_rate;
  OrReason<double> restart_rate;
  OrReason<std::vector<Series>> series;
  OrReason<std::vector<Counts>> per_thread;
  OrReason<Counts> reclaim;
};
void describe(Like<SyncStats> auto& s, auto& field) {
  field("options", s.options, "of the policy, as they were in effect");
  field("counters", s.counters, "of the policy in the measured phase; aborts are counted in `aborts` only");
  field("aborts", s.aborts,
        "by cause; null where no transaction was begun. counters.begins = counters.commits + their sum");
  field("abort_statuses", s.abort_statuses,
        "by the bits of the status that the processor gave, as in retry+conflict: those that there were", kOneOrMore);
  field("fallback_rate", s.fallback_rate,
        "of what could be elided (operations; of hybrid: changes) the share that was not: counters.fallbacks, and "
        "counters.direct_lock "
        "of adaptive; 1 where transactions do not work",
        kUpToOne);
  field("restart_rate", s.restart_rate, "restarts an operation");
  field("series", s.series,
        "aborts an operation, fallbacks of what could be elided, restarts an operation, in the intervals of "
        "throughput.series: those "
        "that the policy counts. Intervals in which there was nothing to take a share of have the rate of the next in "
        "which there was, "
        "joined; at the end they are left out");
  field("per_thread", s.per_thread, "counters and aborts of each thread");
  Keys reclaim{.names = {}, .all = true};
  for (const auto& counter : ReclaimCounters::fields()) reclaim.names.emplace_back(counter.name, "");
  field.keyed("reclaim", s.reclaim, reclaim,
              "blocks retired and freed, advances of the epoch, and batches that ended with too much garbage "
              "(stalled), all in the measured "
              "phase; pending: waiting at its end");
}

/// The lines of a key file.
struct KeyFile {
  u64 lines = 0;
  u64 empty = 0;
  u64 repeated = 0;
};
void describe(Like<KeyFile> auto& f, auto& field) {
  field.about(
      "lines of the file, and of them those skipped as empty and those equal to an earlier one, which are one record");
  field("lines", f.lines, "", kOneOrMore);
  field("empty", f.empty);
  field("repeated", f.repeated);
}

struct MemoryUse {
  OrReason<MallocServer> malloc;
  OrReason<u64> index_live;
  OrReason<u64> index_reserved;
  OrReason<u64> payload;
  OrReason<u64> keys;
  OrReason<u64> keys_at_start;
  OrReason<double> bytes_per_key;
  OrReason<u64> page_bytes;
  OrReason<double> huge_share;
  OrReason<u64> rss;
  OrReason<u64> minor_faults;
  OrReason<u64> major_faults;
  OrReason<u64> accessed_cleared;
};
void describe(Like<MemoryUse> auto& m, auto& field) {
  field("malloc", m.malloc,
        "the file in which malloc was found and its version, as it says; null where nodes are not from malloc");
  field("index_live_bytes", m.index_live, "in blocks of the index after the measured phase");
  field("index_reserved_bytes", m.index_reserved, "that the index holds from the system, free ones included");
  field("payload_bytes", m.payload,
        "of the payloads that values lead to, apart from the index: bytes_per_key is without them, "
        "limits.footprint_bytes with them",
        Bounds{.least = 16});
  field("keys_at_start", m.keys_at_start,
        "in the index as the measured phase began: config.records and what the warm-up inserted and erased");
  field("keys", m.keys, "in the index at the end of the measured phase");
  field("bytes_per_key", m.bytes_per_key, "index_reserved_bytes / keys");
  field("page_bytes", m.page_bytes,
        "of most of the memory that the process got from before the first phase to the end of the measured one: the "
        "index, and what "
        "the harness itself keeps");
  field("huge_share", m.huge_share, "of the same memory, the share on huge pages", kUpToOne);
  field("rss_bytes", m.rss);
  field("minor_faults", m.minor_faults, "in the measured phase");
  field("major_faults", m.major_faults, "in the measured phase");
  field("accessed_cleared", m.accessed_cleared,
        "how often the Accessed bits of all pages were cleared in the measured phase");
}

/// An event that was counted.
struct PmuTotal {
  std::string here;
  bool user_only = false;
  u64 raw = 0;
  double scaled = 0;
  u64 enabled_ns = 0;
  u64 running_ns = 0;
  double per_operation = 0;

  [[nodiscard]] double running_share() const {
    return static_cast<double>(running_ns) / static_cast<double>(enabled_ns);
  }
};
void describe(Like<PmuTotal> auto& t, auto& field) {
  field("here", t.here, "what the event is on this processor, in libpfm4's words", kNotEmpty);
  field("user_only", t.user_only, "without what happened in the kernel, which lets nobody count that");
  field("raw", t.raw, "of energy-pkg: in units of 2^-32 joules, of whole packages, over the phase on the wall");
  field("scaled", t.scaled, "raw * enabled_ns / running_ns, thread by thread");
  field("enabled_ns", t.enabled_ns, "", kOneOrMore);
  field("running_ns", t.running_ns, "less than enabled_ns where events took turns on the processor's counters",
        kOneOrMore);
  field("running_share", t.running_share(), "", Bounds{.most = 1, .above = true});
  field("per_operation", t.per_operation, "scaled / throughput.operations");
}

struct PmuResult {
  struct Event {
    std::string name;
    std::string family;
    OrReason<PmuTotal> total;
  };
  std::vector<Event> events;
  std::vector<std::pair<std::string, double>> derived;
};
void describe(Like<PmuResult::Event> auto& e, auto& field) {
  field("name", e.name, "", kNotEmpty);
  field("family", e.family, "named: asked for by its libpfm4 name", kNotEmpty);
  field("count", e.total);
}
void describe(Like<PmuResult> auto& p, auto& field) {
  field.about(
      "events counted while threads ran operations of the measured phase, not while they made them or waited for each "
      "other; "
      "sums over the threads. Events of a family are on the processor's counters together as far as it has enough");
  field("events", p.events);
  const Keys keys{
      .names = {{"instructions_per_cycle", ""},
                {"branch_misses_per_instruction", ""},
                {"transactional_cycles", "cycles-t / cycles: the share in transactions"},
                {"aborted_cycles", "(cycles-t - cycles-ct) / cycles: the share in transactions that aborted"},
                {"package_joules", ""},
                {"package_joules_per_operation", ""}}};
  field.keyed("derived", p.derived, keys,
              "ratios both parts of which were counted, from the same group of counters where they are of one family");
}

/// What disturbed the measured phase, over the whole process.
struct Health {
  OrReason<u64> voluntary_switches;
  OrReason<u64> involuntary_switches;
  OrReason<u64> migrations;
  OrReason<double> steal_share;
  OrReason<double> on_processor;
  OrReason<double> load_before;
  std::vector<std::string> notes;
};
void describe(Like<Health> auto& h, auto& field) {
  field("voluntary_switches", h.voluntary_switches);
  field("involuntary_switches", h.involuntary_switches);
  field("migrations", h.migrations);
  field("steal_share", h.steal_share, "of all processor time, taken by the hypervisor", kUpToOne);
  field("on_processor", h.on_processor,
        "of the time in which a thread could have run, the share in which it did: of the thread that had least",
        kUpToOne);
  field("load_before", h.load_before, "load average of one minute before the run");
  field("notes", h.notes, "as in: DAMON is running: it aborts transactions");
}

struct Validation {
  Validate mode = Validate::kTally;
  OrReason<bool> passed;
  OrReason<u64> expected_keys;
  OrReason<u64> found_keys;
  std::string detail;
};
void describe(Like<Validation> auto& v, auto& field) {
  field("mode", v.mode);
  field("passed", v.passed);
  field("expected_keys", v.expected_keys);
  field("found_keys", v.found_keys);
  field("detail", v.detail, "of a mismatch, one line");
}

/// A part of the measured phase: so many operations, or a phase of the workload's file (rows.h).
struct ResultRow {
  std::string phase;
  u64 operations = 0;
  double seconds = 0;
  OrReason<double> nodes_per_fetch;
  std::vector<std::pair<std::string, double>> events;
};
void describe(Like<ResultRow> auto& r, auto& field) {
  field("operations", r.operations, "", kOneOrMore);
  field("seconds", r.seconds, "as those of throughput");
  field("events", r.events, "family.name and scaled count of the events of pmu that are counted");
  field.present("phase", r.phase, "rows are of so many operations", "of a workload's file of phases");
  field("nodes_per_fetch", r.nodes_per_fetch,
        "of one thread's lookups just before the end of the row, walked again: what an index has learned from them is "
        "in it");
}

/// What tells that two runs did the same operations: a hash of the first of the workload (workloads/stream.h), the same
/// for every number of threads, index and policy.
struct StreamPrint {
  static constexpr u64 kMost = 1'000'000;
  u64 operations = 0;  ///< that it is of, at most kMost
  u64 fingerprint = 0;
};
void describe(Like<StreamPrint> auto& s, auto& field) {
  field("operations", s.operations, "that it is of", kOneOrMore);
  field.hex("fingerprint", s.fingerprint);
}

/// What a trace is, wherever it lies.
struct TraceInfo {
  u64 checksum = 0, operations = 0, keys = 0, loaded = 0;
  bool has_times = false;
};
void describe(Like<TraceInfo> auto& t, auto& field) {
  field.hex("checksum", t.checksum);
  field("operations", t.operations, "", kOneOrMore);
  field("keys", t.keys, "", kOneOrMore);
  field("loaded", t.loaded, "keys that were there before the first operation");
  field("times", t.has_times, "whether it says when operations were recorded");
}

/// A phase of a workload's file.
struct PhaseInfo {
  std::string name;
  u64 operations = 0;
  std::string workload, distribution, churn;
};
void describe(Like<PhaseInfo> auto& p, auto& field) {
  field("name", p.name, "", kNotEmpty);
  field("operations", p.operations, "that it has: what the file says, rounded up",
        Bounds{.least = 256, .multiple_of = 256});
  field("workload", p.workload, "", kNotEmpty);
  field.present("dist", p.distribution, "it takes the records in turn", "null where no operation draws a key");
  field("churn", p.churn, "", kNotEmpty);
}
[[nodiscard]] std::vector<PhaseInfo> about(const std::vector<WorkloadPhase>& phases);

/// What a trial hands back.
struct TrialResult {
  Status status = Status::kOk;
  std::string reason;        ///< why the status is not ok, one line
  bool interrupted = false;  ///< ended early by a signal; the numbers cover the part that ran
  OrReason<KeyFile> key_file;
  OrReason<TraceInfo> trace;
  OrReason<WiscerFile> wiscer;
  OrReason<std::vector<PhaseInfo>> workload_phases;
  OrReason<StreamPrint> stream;
  Placement placement;
  std::vector<PhaseTime> phases;  ///< of the run
  OrReason<Throughput> throughput;
  OrReason<std::vector<ResultRow>> rows;
  OrReason<Latency> latency;
  OrReason<OfferedLoad> offer;
  OrReason<SloSearch> slo;
  /// Nodes that a lookup of the workload visits, as the index is after the measured phase, where the index counts them.
  OrReason<double> nodes_per_fetch;
  SyncStats sync;
  OrReason<PmuResult> pmu;
  MemoryUse memory;
  Limits limits;
  Health health;
  Validation validation;

  /// The worst status wins, and of equals the first; but in what a result is degraded is all said. Under a worse status
  /// why it is noisy becomes a note, since its numbers are noisy all the same.
  void worsen(Status to, const std::string& why);
  void add_phase(const std::string& name, double seconds, u64 operations);
};
/// What it says first; the rest is below.
void describe_outcome(Like<TrialResult> auto& t, auto& field) {
  field("status", t.status, "noisy: health.on_processor is below 0.9, and nothing worse is the case");
  field("reason", t.reason, "why the status is not ok");
  field("interrupted", t.interrupted, "ended early by a signal: the numbers cover the part that ran");
}
/// What files of the workload said, which documents have in `config`.
void describe_files(Like<TrialResult> auto& t, auto& field) {
  field("key_file", t.key_file);
  field("trace", t.trace);
  field("wiscer", t.wiscer);
  field("phases", t.workload_phases,
        "what a workload file of phases says, or leaves to be the default; all of them are parts of the measured phase "
        "of the run");
}
void describe(Like<TrialResult> auto& t, auto& field) {
  field("stream", t.stream);
  field("placement", t.placement);
  field("phases", t.phases,
        "of the run: load, measure and so on; those of a workload's file are config.phases, and rows of the measured "
        "one");
  field("throughput", t.throughput);
  field("rows", t.rows,
        "the measured phase in rows that follow each other: one for each phase of a workload's file, or, where so many "
        "operations are "
        "asked for, each ended by the first round in which it had enough");
  field("latency", t.latency);
  field("offer", t.offer);
  field("slo", t.slo);
  field("nodes_per_fetch", t.nodes_per_fetch);
  field("sync", t.sync);
  field("pmu", t.pmu);
  field("memory", t.memory);
  field("limits", t.limits);
  field("health", t.health);
  field("validation", t.validation);
}

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
  std::vector<std::pair<std::string, std::string>> libraries;
};
void describe(Like<BuildInfo> auto& b, auto& field) {
  field("commit", b.commit);
  field("dirty", b.dirty);
  field("compiler", b.compiler);
  field("flags", b.flags);
  field("type", b.type);
  field("libraries", b.libraries, "name to version");
}

struct RunResult {
  static constexpr u32 kSchemaVersion = 11;
  std::string run_id;
  std::string point_hash;
  std::string started;
  std::vector<std::string> command;
  Plan plan;
  BuildInfo build;
  MachineInfo machine;
  TrialResult trial;
};
/// Its plan is not read again: documents hold it as words.
void describe(Like<RunResult> auto& r, auto& field) {
  constexpr const char* kAlone = "the run is not part of a comparison";
  field.about(
      "One document a run. What was not measured is null, and the property of the same name with _reason says why; it "
      "is never "
      "zero.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("run_id", r.run_id, "unique: time, process, counter");
  field("point_hash", r.point_hash, "equal for all runs of the same point, on any machine", kHash);
  field.present("block", r.plan.config.block, kAlone, "of an interleaved comparison");
  field.present("order", r.plan.config.order, kAlone, "position within the block");
  field("replicate", r.plan.config.replicate);
  describe_outcome(r.trial, field);
  field("started", r.started, "UTC, ISO 8601");
  field("command", r.command);
  field.group("config", [&](auto& config) {
    describe_plan(r.plan, config);
    describe_files(r.trial, config);
  });
  field("build", r.build);
  field("machine", r.machine);
  describe(r.trial, field);
}

}  // namespace latchlab
