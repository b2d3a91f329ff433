#pragma once

// The result of one run. The document of a run is its RunResult as JSON. Each struct is described once, beside it
// (fields.h); the writer, the reader and result.schema.json follow from that. A value that was not measured is null
// with a reason, never zero. So a value that may be missing is an OrReason<T> (or_reason.h), which has no value unless
// code sets it.
//
//   RunResult            identity: run id, time, command, build
//     Plan               the configuration, and what follows from it       described.h describes these two,
//     MachineInfo        the machine (environment.cc)                      and other structs from other folders
//     TrialResult        the measurements: placement, phases, throughput, sync, memory, limits, ...

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
#include "harness/result/virtual_time.h"
#include "src/base/types.h"
#include "src/base/words.h"
#include "src/memory/media/far_memory.h"
#include "src/reclaim/reclaimer.h"
#include "workloads/phases_file.h"
#include "workloads/wiscer.h"

namespace latchlab {

/// The trust that a result deserves.
///   ok        measured as asked
///   modelled  predicted on a modelled machine (--machine), and not measured
///   noisy     measured as asked, but a thread was descheduled for more than a tenth of its time (on_processor.h)
///   degraded  measured, but not with what the options promise (rtm without working RTM); the reason names it
///   skipped   not run, because this point of a list makes no sense (two writers under `none`)
///   failed    could not be run to its end
///   invalid   run, but the index or its counters contradict the operations: the numbers mean nothing
enum class Status { kOk, kModelled, kNoisy, kDegraded, kSkipped, kFailed, kInvalid };  // from the best to the worst
template <>
inline constexpr std::array kWords<Status>{"ok"sv,      "modelled"sv, "noisy"sv,  "degraded"sv,
                                           "skipped"sv, "failed"sv,   "invalid"sv};
/// Returns true if a run of this status ends with exit status 0. With --strict (`strict`) noisy and degraded runs do
/// not.
[[nodiscard]] bool is_good(Status status, bool strict);

/// The memory that --mem places: the index's mappings, or all memory that the run's threads touch first, malloc's
/// included.
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
  OrReason<bool> oversubscribed;  ///< there are more threads than processors
};
void describe(Like<Placement> auto& p, auto& field) {
  field("requested", p.requested);
  field("processors", p.processors, "number of distinct processors in use", kOneOrMore);
  field("oversubscribed", p.oversubscribed);
  field.group("memory", [&](auto& memory) {
    memory("requested", p.mem);
    memory("by", p.mem_by,
           "memory that is placed: the index's mappings, or all memory that the run's threads touch first, malloc's "
           "included");
    memory("observed", p.page_nodes);
  });
  field("threads", p.threads);
}

/// A phase of the run: load, verify, warmup, measure, validate, ...
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

/// The number and rate of one kind of operation.
struct OperationRate {
  std::string name;  ///< the word of an OpKind
  u64 count = 0;
  u64 succeeded = 0;
  double per_second = 0;
  u64 keys = 0;
  u64 found = 0;
};
void describe(Like<OperationRate> auto& r, auto& field) {
  field("count", r.count);
  field("succeeded", r.succeeded,
        "operations that found or changed something; upserts that inserted; multi-gets that found all keys");
  field("per_second", r.per_second);
  field.where(r.keys > 0, "keys", r.keys, "keys that multi-gets looked up", kOneOrMore);
  field.where(r.keys > 0, "found", r.found, "keys that multi-gets found");
}
auto& named_value(Like<OperationRate> auto& named) { return named; }

/// The cause of the end of the measured phase.
enum class Ending {
  kTime,        ///< the time of --time is over
  kOperations,  ///< the operations of --ops are done
  kRecords,     ///< insert has inserted all its records
  kWorkload,    ///< all operations of a trace, or of a file of phases, are done
  kFull,        ///< an insert found no room, and the index may not grow
  kSignal       ///< a signal interrupted the run
};
template <>
inline constexpr std::array kWords<Ending>{"time"sv, "operations"sv, "records"sv, "workload"sv, "full"sv, "signal"sv};

/// The number and rate of the measured phase's operations (rounds.h).
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
  OrReason<u64> station_issued;
  OrReason<u64> station_applied;
};
void describe(Like<Throughput> auto& t, auto& field) {
  field.about("throughput of the measured phase; all rates are operations a second over the same seconds");
  field("operations", t.operations);
  field(
      "seconds", t.seconds,
      "wall time in which threads ran operations, in rounds. In a round all threads first generate their next "
      "operations, which is left out. Then all run them together, until one thread has finished and the others stop "
      "within 64 operations. The time of a round is from the moment when the last thread is ready to a thread's stop, "
      "averaged over the threads. With more threads than processors there are no rounds, and this is the wall time "
      "from the first thread's start to the last thread's end",
      kAboveZero);
  field("timed_share", t.timed_share,
        "seconds / wall time of the whole phase; throughput including the generation of operations is per_second times "
        "this",
        Bounds{.most = 1, .above = true});
  field("per_second", t.per_second, "operations / seconds", kAboveZero);
  field(
      "ended_by", t.ended_by,
      "time: --time; operations: --ops; records: insert has inserted all records; workload: all operations of a trace "
      "or a file of phases are done; full: an insert found no room in an index that may not grow; signal: an "
      "interruption");
  field("per_operation", t.per_operation);
  field.seconds("interval_s", t.interval_ns, "interval of series; the last, partial interval is left out");
  field("series", t.series);
  field("per_thread", t.per_thread, "rate of each thread, over the same seconds: their sum is per_second");
  field("jain", t.jain,
        "Jain's fairness of the threads' numbers of operations x: (sum x)^2 / (n sum x^2), 1 if all are equal",
        kUpToOne);
  field("generator_ns", t.generator_ns,
        "processor time that a thread takes to generate an operation, warm-up included");
  field("station_issued", t.station_issued, "operations that met in reservation stations (config.station)");
  field("station_applied", t.station_applied, "operations of the index that the stations made of them");
}

/// The policy's counters over all threads in the measured phase.
struct SyncStats {
  using Options = std::vector<std::pair<std::string, std::string>>;
  using Counts = std::vector<NamedCount>;
  using Series = std::pair<std::string, std::vector<double>>;  ///< a name, and a rate for each interval
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
  field("options", s.options, "options of the policy, as they were in effect");
  field("counters", s.counters, "counters of the policy in the measured phase, without aborts");
  field("aborts", s.aborts,
        "aborts by cause; null if no transaction began. counters.begins = counters.commits + their sum");
  field("abort_statuses", s.abort_statuses,
        "aborts by the bits of the processor's status, such as retry+conflict; only statuses that occurred",
        kOneOrMore);
  field("fallback_rate", s.fallback_rate,
        "share of the operations that could be elided but were not (under hybrid: of changes): counters.fallbacks, and "
        "under adaptive counters.direct_lock; 1 if transactions do not work",
        kUpToOne);
  field("restart_rate", s.restart_rate, "restarts per operation");
  field(
      "series", s.series,
      "aborts per operation, fallback rate and restarts per operation in the intervals of throughput.series, as far as "
      "the policy counts them. An interval without operations to divide by is joined with the next interval that has "
      "some, and takes its rate; at the end it is left out");
  field("per_thread", s.per_thread, "counters and aborts of each thread");
  Keys reclaim{.names = {}, .all = true};
  for (const auto& counter : ReclaimCounters::fields()) reclaim.names.emplace_back(counter.name, "");
  field.keyed("reclaim", s.reclaim, reclaim,
              "counts of the measured phase: blocks retired and freed, advances of the epoch, and batches that ended "
              "with too much garbage (stalled); pending: blocks that wait to be freed at its end");
}

/// The lines of a key file.
struct KeyFile {
  u64 lines = 0;
  u64 empty = 0;
  u64 repeated = 0;
};
void describe(Like<KeyFile> auto& f, auto& field) {
  field.about(
      "number of lines of the file, of skipped empty lines, and of lines that repeat an earlier one; equal lines are "
      "one "
      "record");
  field("lines", f.lines, "", kOneOrMore);
  field("empty", f.empty);
  field("repeated", f.repeated);
}

/// The two memories of sized values, and what was done in the measured phase.
struct TwoMemories {
  std::string medium, words, rule;
  OrReason<std::string> hwloc, file_system;
  OrReason<u64> near_limit;
  u64 live = 0, reserved = 0;
  OrReason<PageNodes> page_nodes;
  OrReason<u64> locked;
  OrReason<double> preset_latency_ns, preset_read_gbps, preset_write_gbps;
  OrReason<double> latency_ns, read_gbps, write_gbps;
  OrReason<double> near_latency_ns, near_read_gbps, near_write_gbps;
  OrReason<bool> kernel_demotes;
  OrReason<u64> near_reads, far_reads, far_bytes_read, far_writes, far_bytes_written, promotions, demotions, looks;
  OrReason<u64> late_moves, near_full;
  OrReason<double> near_share, moving_share;
};
void describe(Like<TwoMemories> auto& m, auto& field) {
  field.about(
      "far memory of sized values or of leaves, near memory beside it, and what operations did in the measured phase; "
      "times are of one thread; nothing is counted of leaves");
  field(
      "medium", m.medium,
      "node: a NUMA node; file: pages of a file; modelled: this machine's memory, whose copies wait as long as on the "
      "medium");
  field("words", m.words, "value of --far, with a model's speed");
  field("hwloc", m.hwloc, "hwloc's word for the memory of the node, as in DRAM or CXL-DRAM");
  field("file_system", m.file_system, "of the file: tmpfs and ramfs are this machine's memory");
  field("rule", m.rule, "value of --rule: which values are near; leaves: all inner nodes, and no leaf");
  field("near_limit_bytes", m.near_limit, "value of --near", kOneOrMore);
  field("live_bytes", m.live, "bytes in blocks of far memory after the measured phase");
  field("reserved_bytes", m.reserved, "bytes that far memory holds from the system, free blocks included");
  field("observed", m.page_nodes, "the same of far memory's pages");
  field("locked_bytes", m.locked,
        "of a node: the part of reserved_bytes that the kernel neither swaps out nor moves to another node");
  field("preset_latency_ns", m.preset_latency_ns, "of the model: time of a transfer beside its bytes");
  field("preset_read_gbps", m.preset_read_gbps, "of the model: 10^9 bytes a second of all readers together");
  field("preset_write_gbps", m.preset_write_gbps, "of the model, of all writers together");
  field("latency_ns", m.latency_ns, "measured: time of a dependent line; of a model, of a transfer beside its bytes");
  field("read_gbps", m.read_gbps, "measured: copies of 64 KiB from it; a model is never faster than this machine");
  field("write_gbps", m.write_gbps, "measured: copies of 64 KiB to it");
  field("near_latency_ns", m.near_latency_ns, "the same of near memory");
  field("near_read_gbps", m.near_read_gbps);
  field("near_write_gbps", m.near_write_gbps);
  field("kernel_demotes", m.kernel_demotes,
        "true if the kernel moves cold pages to slower nodes by itself, but for locked_bytes");
  field("near_reads", m.near_reads, "values read in near memory; values of up to 7 bytes are in the index");
  field("far_reads", m.far_reads, "values read in far memory");
  field("near_share", m.near_share, "near_reads / (near_reads + far_reads)", kUpToOne);
  field("far_bytes_read", m.far_bytes_read);
  field("far_writes", m.far_writes, "new values in far memory, and demotions");
  field("far_bytes_written", m.far_bytes_written);
  field("promotions", m.promotions, "moves of values to near memory");
  field("demotions", m.demotions, "moves of values to far memory");
  field("looks", m.looks, "at values in near memory, by the hand that seeks cold ones");
  field("late_moves", m.late_moves, "copies in vain, since the value had been replaced or erased");
  field("near_full", m.near_full, "values that near memory had no room for");
  field("moving_share", m.moving_share, "time of moves and of looking for cold values / time of all threads");
}

struct MemoryUse {
  OrReason<TwoMemories> far;
  OrReason<MallocServer> malloc;
  OrReason<u64> index_live;
  OrReason<u64> index_reserved;
  OrReason<u64> values_live;
  OrReason<u64> values_reserved;
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
        "library that serves malloc: its file, and its version as it reports it; null if nodes are not from malloc");
  field("index_live_bytes", m.index_live, "bytes in blocks of the index after the measured phase");
  field("index_reserved_bytes", m.index_reserved, "bytes that the index holds from the system, free blocks included");
  field("values_live_bytes", m.values_live, "bytes in blocks of sized values after the measured phase");
  field("values_reserved_bytes", m.values_reserved,
        "bytes that sized values hold from the system, free blocks included; bytes_per_key excludes them, "
        "limits.footprint_bytes includes them");
  field("keys_at_start", m.keys_at_start,
        "keys in the index at the start of the measured phase: config.records, changed by the warm-up");
  field("keys", m.keys, "keys in the index at the end of the measured phase");
  field("bytes_per_key", m.bytes_per_key, "index_reserved_bytes / keys");
  field("page_bytes", m.page_bytes,
        "page size of most of the memory that the process got from before the first phase to the end of the measured "
        "phase: the index, and the harness's own data");
  field("huge_share", m.huge_share, "share of the same memory on huge pages", kUpToOne);
  field("rss_bytes", m.rss);
  field("minor_faults", m.minor_faults, "minor page faults in the measured phase");
  field("major_faults", m.major_faults, "major page faults in the measured phase");
  field("accessed_cleared", m.accessed_cleared,
        "number of times that the Accessed bits of all pages were cleared in the measured phase");
  field("far", m.far);
}

/// The count of an event.
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
  field("here", t.here, "libpfm4's name of the event on this processor", kNotEmpty);
  field("user_only", t.user_only, "true if the kernel forbids to count inside of it, so its part is missing");
  field("raw", t.raw,
        "raw count; for energy-pkg in units of 2^-32 joules, of whole packages, over the wall time of the phase");
  field("scaled", t.scaled, "raw * enabled_ns / running_ns, summed over the threads");
  field("enabled_ns", t.enabled_ns, "", kOneOrMore);
  field("running_ns", t.running_ns, "less than enabled_ns if events took turns on the processor's counters",
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
  field("family", e.family, "named: the user gave its libpfm4 name", kNotEmpty);
  field("count", e.total);
}
void describe(Like<PmuResult> auto& p, auto& field) {
  field.about(
      "events counted while threads ran operations of the measured phase, but not while they generated them or waited "
      "for each other; sums over the threads. The events of a family are counted at the same time, as far as the "
      "processor has counters");
  field("events", p.events);
  const Keys keys{
      .names = {{"instructions_per_cycle", ""},
                {"branch_misses_per_instruction", ""},
                {"transactional_cycles", "cycles-t / cycles: share of cycles in transactions"},
                {"aborted_cycles", "(cycles-t - cycles-ct) / cycles: share of cycles in transactions that aborted"},
                {"package_joules", ""},
                {"package_joules_per_operation", ""}}};
  field.keyed("derived", p.derived, keys,
              "ratios of events that were both counted; events of one family are from the same group of counters");
}

/// Disturbances of the whole process in the measured phase.
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
  field("steal_share", h.steal_share, "share of all processor time that the hypervisor gave to other guests", kUpToOne);
  field("on_processor", h.on_processor,
        "share of the time in which a thread could have run that it had a processor; the smallest of all threads",
        kUpToOne);
  field("load_before", h.load_before, "load average of one minute before the run");
  field("notes", h.notes, "one line each, such as: DAMON is running: it aborts transactions");
}

/// The waits of the measured phase, summed over its threads, and what the kernel did to these.
struct Scheduling {
  OrReason<u64> run_delay_ns;
  OrReason<u64> yields;
  OrReason<u64> parks;
  OrReason<u64> wakes;
  OrReason<u64> late_handovers;
  OrReason<u64> preempted_outside_waits;
  OrReason<u64> slice_extensions;
};
void describe(Like<Scheduling> auto& s, auto& field) {
  field.about(
      "waits inside the index that lasted more than about a microsecond, and threads without a processor; sums over "
      "the "
      "threads. The last two are known if there are more threads than processors; then each yield or sleep in a wait "
      "takes about half a microsecond longer, to ask the kernel");
  field("run_delay_ns", s.run_delay_ns, "time for which threads were ready to run, but had no processor");
  field("yields", s.yields, "calls of sched_yield in waits and between attempts");
  field("parks", s.parks, "calls of futex to sleep, with --wait=park");
  field("wakes", s.wakes, "calls of futex to wake parked threads");
  field("late_handovers", s.late_handovers,
        "waits that were over when their thread came back from its last yield or sleep, and the kernel had given the "
        "processor to another thread meanwhile: handovers to a descheduled thread, if a lock hands over. A thread that "
        "was preempted in the first microsecond of its wait is not counted");
  field("preempted_outside_waits", s.preempted_outside_waits,
        "involuntary context switches of threads that were not in a wait of more than a microsecond. Under one global "
        "lock most of these are inside it or about to take it, so this bounds the preempted holders from above");
  field("slice_extensions", s.slice_extensions,
        "operations for which the kernel let a thread keep its processor, with --slice-extension=on");
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
  field("detail", v.detail, "description of a mismatch in one line");
}

/// The recorded calls of a run.
struct History {
  std::string keys;  ///< "1/64", "all"
  u64 room = 0, calls = 0, pending = 0;
  OrReason<std::string> ended_in;
  OrReason<double> ended_s;
  OrReason<bool> linearizable;
  OrReason<u64> checked_keys, wrong_keys, undecided_keys;
  OrReason<std::string> witness;
  OrReason<u64> preemptions, preemptions_inside;
};
void describe(Like<History> auto& h, auto& field) {
  field.about("calls on a share of the keys, recorded from loading on");
  field("keys", h.keys, "share of the keys whose calls are recorded, or all", kNotEmpty);
  field("room", h.room, "number of calls that there was room for", kOneOrMore);
  field("calls", h.calls, "number of recorded calls");
  field("pending", h.pending, "those among them that had not returned when the recording ended");
  field("ended_in", h.ended_in, "phase in which the recording was full and ended");
  field("ended_s", h.ended_s, "time from the beginning of the recording to its end");
  field("linearizable", h.linearizable,
        "true if each key's calls have an order that agrees with their answers and with time");
  field("checked_keys", h.checked_keys);
  field("wrong_keys", h.wrong_keys, "keys whose calls have no such order");
  field("undecided_keys", h.undecided_keys, "keys whose check reached its limit");
  field("witness", h.witness, "key with such calls, and few of its calls that conflict, one a line");
  field("preemptions", h.preemptions, "how often --preempt interrupted a thread");
  field("preemptions_inside", h.preemptions_inside, "those among them that came inside a recorded call");
}

/// A part of the measured phase: a number of operations, or a phase of the workload's file (rows.h).
struct ResultRow {
  std::string phase;
  u64 operations = 0;
  double seconds = 0;
  OrReason<double> nodes_per_fetch;
  std::vector<std::pair<std::string, double>> events;
};
void describe(Like<ResultRow> auto& r, auto& field) {
  field("operations", r.operations, "", kOneOrMore);
  field("seconds", r.seconds, "measured like throughput.seconds");
  field("events", r.events, "scaled counts of the events of pmu, by family.name");
  field.present("phase", r.phase, "each row is a number of operations", "name of a phase of the workload's file");
  field("nodes_per_fetch", r.nodes_per_fetch,
        "mean number of nodes that a lookup visits: one thread's last lookups of the row, repeated after the index has "
        "learned from them");
}

/// A fingerprint of the workload: a hash of its first operations (workloads/stream.h). It is the same for every number
/// of threads, index and policy, so it shows that two runs did the same operations.
struct StreamPrint {
  static constexpr u64 kMost = 1'000'000;
  u64 operations = 0;  ///< number of operations that are hashed, at most kMost
  u64 fingerprint = 0;
};
void describe(Like<StreamPrint> auto& s, auto& field) {
  field("operations", s.operations, "number of operations that are hashed", kOneOrMore);
  field.hex("fingerprint", s.fingerprint);
}

/// The identity of a trace, apart from its path.
struct TraceInfo {
  u64 checksum = 0, operations = 0, keys = 0, loaded = 0;
  bool has_times = false;
};
void describe(Like<TraceInfo> auto& t, auto& field) {
  field.hex("checksum", t.checksum);
  field("operations", t.operations, "", kOneOrMore);
  field("keys", t.keys, "", kOneOrMore);
  field("loaded", t.loaded, "number of keys that exist before the first operation");
  field("times", t.has_times, "true if the trace has the times of its operations");
}

/// A phase of a workload's file.
struct PhaseInfo {
  std::string name;
  u64 operations = 0;
  std::string workload, distribution, churn;
};
void describe(Like<PhaseInfo> auto& p, auto& field) {
  field("name", p.name, "", kNotEmpty);
  field("operations", p.operations, "number of operations in the file, rounded up to a multiple of 256",
        Bounds{.least = 256, .multiple_of = 256});
  field("workload", p.workload, "", kNotEmpty);
  field.present("dist", p.distribution, "it takes the records in turn", "null if no operation draws a key");
  field("churn", p.churn, "", kNotEmpty);
}
[[nodiscard]] std::vector<PhaseInfo> about(const std::vector<WorkloadPhase>& phases);

/// The result of a trial.
struct TrialResult {
  Status status = Status::kOk;
  std::string reason;        ///< why the status is not ok, in one line
  bool interrupted = false;  ///< a signal ended the run early; the numbers cover the part that ran
  OrReason<KeyFile> key_file;
  OrReason<TraceInfo> trace;
  OrReason<WiscerFile> wiscer;
  OrReason<std::vector<PhaseInfo>> workload_phases;
  OrReason<StreamPrint> stream;
  Placement placement;
  std::vector<PhaseTime> phases;  ///< phases of the run, in order
  OrReason<Throughput> throughput;
  OrReason<std::vector<ResultRow>> rows;
  OrReason<Latency> latency;
  OrReason<OfferedLoad> offer;
  OrReason<SloSearch> slo;
  /// The mean number of nodes that a lookup of the workload visits in the index as it is after the measured phase.
  /// Missing if the index does not count nodes.
  OrReason<double> nodes_per_fetch;
  SyncStats sync;
  OrReason<PmuResult> pmu;
  OrReason<VirtualTime> virtual_time;
  MemoryUse memory;
  Limits limits;
  Health health;
  Scheduling scheduling;
  Validation validation;
  OrReason<History> history;

  /// Sets status and reason to `to` and `why` if `to` is worse than the status so far. Two exceptions:
  ///   1. The reasons of a degraded result are joined.
  ///   2. The reason of a noisy result becomes a note if the status is worse, since its numbers are noisy all the same.
  void worsen(Status to, const std::string& why);
  void add_phase(const std::string& name, double seconds, u64 operations);
};
/// Describes the fields at the beginning of a document. The other fields are below.
void describe_outcome(Like<TrialResult> auto& t, auto& field) {
  field("status", t.status,
        "modelled: predicted, and not measured; noisy: health.on_processor is below 0.9, and the result is not worse "
        "otherwise");
  field("reason", t.reason, "why the status is not ok");
  field("interrupted", t.interrupted, "true if a signal ended the run early; the numbers cover the part that ran");
}
/// Describes the files of the workload, which documents have in `config`.
void describe_files(Like<TrialResult> auto& t, auto& field) {
  field("key_file", t.key_file);
  field("trace", t.trace);
  field("wiscer", t.wiscer);
  field("phases", t.workload_phases,
        "phases of a workload file, defaults included; all of them are parts of the measured phase of the run");
}
void describe(Like<TrialResult> auto& t, auto& field) {
  field("stream", t.stream);
  field("placement", t.placement);
  field(
      "phases", t.phases,
      "phases of the run: load, measure and so on; the phases of a workload's file are in config.phases, and are rows "
      "of the measured phase");
  field("throughput", t.throughput);
  field("rows", t.rows,
        "consecutive rows of the measured phase: one for each phase of a workload's file, or with --rows one for each "
        "config.rows operations, ended by the first round in which it had enough");
  field("latency", t.latency);
  field("offer", t.offer);
  field("slo", t.slo);
  field("nodes_per_fetch", t.nodes_per_fetch);
  field("sync", t.sync);
  field("pmu", t.pmu);
  field("virtual_time", t.virtual_time);
  field("memory", t.memory);
  field("limits", t.limits);
  field("health", t.health);
  field("scheduling", t.scheduling);
  field("validation", t.validation);
  field("history", t.history);
}

/// Gives this reason to every missing value that has none yet: the measured phase did not take place.
void nothing_measured(TrialResult& result, const std::string& why);

/// Marks bytes, keys, limits and validation as missing: the index of this run keeps nothing.
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
  static constexpr u32 kSchemaVersion = 19;
  std::string run_id;
  std::string point_hash;
  std::string started;
  std::vector<std::string> command;
  Plan plan;
  BuildInfo build;
  MachineInfo machine;
  TrialResult trial;
};
/// Describes a whole document. A reader cannot restore the plan from it, since documents hold the plan as words.
void describe(Like<RunResult> auto& r, auto& field) {
  constexpr const char* kAlone = "the run is not part of a comparison";
  field.about(
      "The document of one run. A value that was not measured is null, never zero, and the property of the same name "
      "with _reason says why.");
  field.constant("schema_version", RunResult::kSchemaVersion);
  field("run_id", r.run_id, "unique: time, host, process, counter");
  field("point_hash", r.point_hash, "equal for all runs of the same point, on any machine", kHash);
  field.present("block", r.plan.config.block, kAlone, "number of the block in an interleaved comparison");
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
