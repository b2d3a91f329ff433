#pragma once

// The document fields of structs from other folders: the configuration, the machine, and the files of a workload
// (fields.h).

#include "harness/config/plan.h"
#include "harness/host/environment.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/placement.h"
#include "harness/result/fields.h"
#include "workloads/wiscer.h"

namespace latchlab {

/// Returns `value`, or a missing value if `why` gives a reason.
template <class T>
[[nodiscard]] OrReason<T> unless(const std::string& why, T value) {
  return why.empty() ? OrReason<T>(std::move(value)) : OrReason<T>::missing(why);
}

/// Describes the configuration in effect, as words. No reader reads these fields back; the options in `point` can be
/// parsed again.
void describe_plan(const Plan& plan, auto& field) {
  const Config& c = plan.config;
  field("point", point_of(plan), "the options that describe this point");
  field("index", c.index.str());
  field("index_options", plan.index_options, "options of the index, as they were in effect");
  field("sync", c.sync.str());
  field("machine", unless(c.machine.name.empty() ? "the run is measured" : "", c.machine.str()),
        "modelled machine, with its scale and changes");
  field("threads", c.threads, "threads of the whole run, also with --threads-per", kOneOrMore);
  field("threads_per", c.threads_per);
  field("pin", c.pin.text);
  field("smt", c.smt,
        "avoid: second hardware threads are used after every core has a thread; pack: before the next core");
  field("alloc", unless(plan.own_memory, c.alloc));
  field("mem", c.mem.text, "value of --mem");
  field("hugepages", c.huge_pages, "none: forbidden for all memory of the process");
  field("reclaim", unless(plan.no_reclaim, c.reclaim));
  field(
      "wait", unless(plan.no_wait, c.wait),
      "how threads go on with waits of more than a microsecond: they spin, yield between looks, or park until a store "
      "ends the wait");
  field("slice_extension", unless(plan.no_sections, c.slice_extension),
        "on: a thread asks the kernel not to take its processor away inside an operation under a global lock");
  field("workload", c.workload.str());
  field("churn", unless(plan.no_churn, c.churn.str()), "change of popularity; null if a file sets it");
  field("keys", c.keys.str());
  field("key_kind", c.key_kind());
  field("dist", unless(plan.no_distribution, c.distribution.str()), "null if no operation draws a key");
  field("negative", c.negative, "share of lookups for absent keys", kUpToOne);
  field("batch", c.batch.keys, "number of operations in a batch; 1: none", Bounds{.least = 1, .most = 64});
  field("batch_order", unless(c.batch.keys > 1 ? "" : "a batch of one key has no order", c.batch.order));
  field("station", unless(c.station.mode != StationMode::kOff ? "" : "--station=off", c.station.mode),
        "how the operations of a batch meet in a reservation station");
  field("station_order", unless(c.station.mode != StationMode::kOff ? "" : "--station=off", c.station.order),
        "when an operation of a station is answered: in the order of the batch, or when its key is done");
  field("value_size", c.value_size,
        "bytes of a value; 8 are a word in the index, and values of any other size are in a store",
        Bounds{.most = 16 << 20});
  const std::string one_memory = c.far ? "" : "values have one memory";
  field("near", unless(c.far && c.near == 0 ? "leaves are far, and inner nodes near" : one_memory, c.near),
        "bytes of values that may be near");
  field("far", unless(one_memory, c.far ? c.far->str() : ""), "medium of far memory for values or leaves");
  field("rule", unless(one_memory, c.placement_rule().str()), "which values are near");
  field("records", c.records);
  field.seconds("warmup_s", c.warmup_ns);
  field("time_s", unless(c.time_ns != 0 ? "" : "the run ends after a number of operations",
                         static_cast<double>(c.time_ns) / 1e9));
  field("ops", unless(c.ops != 0       ? ""
                      : c.time_ns != 0 ? "the run ends by time"
                                       : "the run ends with its records",
                      c.ops));
  field.seconds("clear_accessed_s", c.clear_accessed_ns,
                "time between two clearings of all pages' Accessed bits in the measured phase; 0: none");
  field.seconds("sample_s", c.sample_ns);
  field("rows",
        unless(c.rows.value_or(0) != 0       ? ""
               : c.workload.name != "phases" ? "rows are asked for with --rows"
               : c.rate || c.slo             ? "phases of the file are rows in a closed loop only"
                                             : "each phase of the file is a row",
               c.rows.value_or(0)),
        "operations of a row of the result; null also if the rows are the phases of a workload's file", kOneOrMore);
  field("latency_every", c.latency_every, "one call in this many is timed; 0: none");
  field("pmu", c.pmu, "families and names of events to count, or off", kNotEmpty);
  field("rate",
        unless(c.rate  ? ""
               : c.slo ? "--slo looks for it"
                       : "a closed loop",
               c.rate ? c.rate->str() : ""),
        "offered load of an open loop");
  field("slo", unless(c.slo ? "" : "there is no bound to keep", c.slo ? c.slo->str() : ""),
        "bound on response times; the run searches for the highest rate that keeps it");
  field("seed", c.seed);
  field("validate", c.validate, "history: also the linearizability of recorded calls");
  field("history", unless(c.history ? "" : "--history is not given", c.history ? c.history->str() : ""),
        "file of recorded calls, share of the keys, and number of calls that there is room for if it was given");
  field("preempt", c.preempt, "true if threads are interrupted inside recorded calls");
  field("strict", c.strict);
}

void describe(Like<WiscerFile> auto& f, auto& field) {
  field.about("settings of a Wiscer workload file, defaults included");
  field("zipf", f.zipf);
  field("initial_size", f.initial_size);
  field("operation_count", f.operations, "", kOneOrMore);
  field("fetch", f.fetch, "", kUpToOne);
  field("insert", f.insert, "", kUpToOne);
  field("delete", f.erase, "", kUpToOne);
  field("shift_share", f.shift_share, "", kUpToOne);
  field.choice("key_pattern", f.sequential, "random", "sequential");
  field.choice("key_order", f.sorted, "random", "sorted");
  field.present("shift_every", f.shift_every, "popularity does not shift", "operations", kOneOrMore);
}

void describe(Like<CacheInfo> auto& c, auto& field) {
  field("level", c.level);
  field("type", c.type);
  field("bytes", c.bytes, "", kOneOrMore);
  field("shared_by", c.shared_by, "number of processors", kOneOrMore);
}

void describe(Like<RtmInfo> auto& r, auto& field) {
  field.about("RTM as CPUID reports it, and as running transactions found it");
  field("cpuid_rtm", r.cpuid_rtm);
  field("cpuid_always_abort", r.cpuid_always_abort);
  field("probe", r.probe);
}

void describe(Like<ModelInfo> auto& m, auto& field) {
  field.about(
      "modelled machine that the run was predicted on; all else in machine is about the one that ran the model");
  field("name", m.name, "", kNotEmpty);
  field("digest", m.digest, "of the machine's file, with the changes", kHash);
  field("topology", m.topology);
  field("scale", m.scale, "what L3, the second TLB and the times of NUMA balancing's marks are divided by", kOneOrMore);
  field("seed", m.seed);
  field("warmup_operations", m.warmup_operations, "length of the warm-up; 0 if it is a time, or there is none");
  field("changes", m.changes, "values that differ from the machine's file, one line each", kNotEmpty);
  field("fitted", m.fitted, "values that were fitted to published results", kNotEmpty);
}

void describe(Like<MachineInfo> auto& m, auto& field) {
  field("hostname", m.hostname);
  field("boot_id", m.boot_id, "new at every boot; results with the same one are of one machine, whatever its names");
  field("model", m.model);
  field("microcode", m.microcode);
  field("topology", m.topology);
  field("topology_digest", m.topology_digest);
  field("processors", m.processors, "number of processors that the process may use");
  field("sockets", m.sockets);
  field("cores", m.cores);
  field("numa_nodes", m.numa_nodes);
  field("caches", m.caches);
  field("memory_bytes", m.memory_bytes, "", kOneOrMore);
  field("kernel", m.kernel);
  field("mitigations", m.mitigations);
  field("governor", m.governor);
  field("thp", m.thp);
  field("numa_balancing", m.numa_balancing);
  field("damon", m.damon);
  field("virtual_machine", m.virtual_machine);
  field("rtm", m.rtm);
  field("heavy_fence", m.heavy_fence,
        "how epoch reclamation makes all processors fence: by a system call, or by moving to each processor in turn; "
        "none: both are forbidden");
  field("modelled", m.modelled);
}

void describe(Like<ThreadPlacement> auto& p, auto& field) {
  field("requested_cpu", p.requested_cpu);
  field("observed_cpu", p.observed_cpu);
  field("socket", p.socket);
  field("node", p.node);
  field("cluster", p.cluster);
  field("core", p.core);
}

void describe(Like<PageNodes::Share> auto& s, auto& field) {
  field("node", s.node);
  field("share", s.share, "", kUpToOne);
}

void describe(Like<PageNodes> auto& p, auto& field) {
  field.about("nodes of the index's touched pages after the measured phase, or of a sample of them");
  field("pages", p.pages, "", kOneOrMore);
  field("shares", p.shares);
}

void describe(Like<MallocServer> auto& m, auto& field) {
  field("library", m.library, "", kNotEmpty);
  field("version", m.version, "", kNotEmpty);
}

void describe(Like<Limits> auto& l, auto& field) {
  field.about(
      "limits: accesses to the same memory with no index in it, and the loop of the run with an index that does "
      "nothing");
  field("footprint_bytes", l.footprint,
        "size of the buffer: that of the index and its sized values, but at least 1 MiB, and at most 4 GiB and half of "
        "the free memory",
        kOneOrMore);
  field("page_bytes", l.page_bytes);
  field("cycle_ns", l.cycle_ns, "time of a processor cycle: of an addition that depends on the one before it");
  field("chase_ns", l.chase_ns, "time of a dependent line");
  field("independent_ns", l.independent_ns, "time of one of many independent lines");
  field("transaction_ns", l.transaction_ns, "time of a hardware transaction that reads one line of its thread's own");
  field(
      "loop_ns", l.loop_ns,
      "a thread's time for an operation of the null index under none, by the same loop: for the same workload, number "
      "of threads, batch and timing of calls",
      kAboveZero);
  field("chase_ratio", l.chase_ratio, "a thread's time for an operation / chase_ns");
  field("independent_ratio", l.independent_ratio,
        "a thread's time for an operation / independent_ns; the column '% of limit' of the table is its inverse");
  field("words_ns", l.words_ns,
        "a thread's time for a lookup that finds the word of a sized value and does not read the value: for the same "
        "workload, number of threads and batch",
        kAboveZero);
  field("value_lines", l.value_lines, "lines of a sized value and its header; 0 if it stays in its word");
  field("value_ratio", l.value_ratio,
        "a thread's time for an operation / (words_ns + value_lines x independent_ns): that of the index alone and of "
        "the value's lines");
  field("loop_share", l.loop_share,
        "loop_ns / a thread's time for an operation: the share of the loop, at most, since it also runs while an "
        "operation waits for memory",
        kAboveZero);
}

}  // namespace latchlab
