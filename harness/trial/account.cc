#include "harness/trial/account.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"
#include "harness/host/on_processor.h"
#include "harness/host/placement.h"
#include "harness/trial/history_account.h"
#include "harness/trial/latency_account.h"
#include "harness/trial/media_account.h"
#include "harness/trial/offered_load.h"
#include "harness/trial/pmu_account.h"
#include "harness/trial/slo_search.h"
#include "harness/trial/sync_account.h"
#include "harness/trial/validate.h"
#include "src/base/printable.h"
#include "src/memory/accessed_bits.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

constexpr double kMuchSteal = .05;

// Files may change while their names stay, so the document contains the facts that they state.

OrReason<KeyFile> key_file_of(const Measurement& m) {
  const auto& lines = m.key_lines;
  if (!lines) return OrReason<KeyFile>::missing("the keys are from no file");
  return KeyFile{.lines = lines->total, .empty = lines->empty, .repeated = lines->repeated};
}

OrReason<TraceInfo> trace_of(const Workload& workload) {
  const auto& trace = workload.trace();
  if (!trace) return OrReason<TraceInfo>::missing("the workload is no trace");
  return TraceInfo{.checksum = trace->checksum(),
                   .operations = trace->ops().size(),
                   .keys = trace->keys(),
                   .loaded = trace->loaded(),
                   .has_times = trace->has_times()};
}

OrReason<WiscerFile> wiscer_file_of(const Workload& workload) {
  return workload.wiscer() ? OrReason(*workload.wiscer())
                           : OrReason<WiscerFile>::missing("the workload is no file of Wiscer");
}

OrReason<std::vector<PhaseInfo>> workload_phases_of(const Workload& workload) {
  using About = OrReason<std::vector<PhaseInfo>>;
  return workload.phases().empty() ? About::missing("the workload is no file of phases")
                                   : About(about(workload.phases()));
}

/// Returns notes about settings of a Wiscer file that options override.
std::vector<std::string> overridden(const WiscerFile& file, const Config& config) {
  std::vector<std::string> notes;
  if (file.engine && file.engine->index != config.index.name) {
    notes.push_back(
        fmt::format("--index={} overrides the file's storageEngine={}", config.index.str(), file.engine->word));
  }
  if (file.output) {
    notes.push_back(fmt::format(
        "the file's outputFile={} is not written: --out=FOLDER keeps results, and harness rows prints them in "
        "Wiscer's columns",
        printable(*file.output)));
  }
  return notes;
}

/// Returns a note if a replay changes the size of values: it writes values of one size, a multiple of eight bytes.
std::optional<std::string> resized(const Trace& trace, u32 value_size) {
  const Trace::Values& values = trace.values();
  const auto as_written = [&](u32 bytes) { return bytes == value_size; };
  if (values.count == 0 || (as_written(values.shortest) && as_written(values.longest))) return std::nullopt;
  return fmt::format(
      "the trace's values have {} bytes, {:.1f} on average, and those of its replay {} each (--value-size)",
      values.shortest == values.longest ? fmt::format("{}", values.longest)
                                        : fmt::format("{} to {}", values.shortest, values.longest),
      static_cast<double>(values.bytes) / static_cast<double>(values.count), value_size);
}

/// Returns a note about phases that have more operations than their file asks for.
std::optional<std::string> rounded_up(const std::vector<WorkloadPhase>& phases) {
  std::vector<std::string> longer;
  for (const WorkloadPhase& phase : phases) {
    if (phase.operations == phase.asked) continue;
    longer.push_back(fmt::format("{} has {} for {}", phase.name, phase.operations, phase.asked));
  }
  if (longer.empty()) return std::nullopt;
  return fmt::format("phases are whole blocks of {} operations: {}", Mix::kBlock, fmt::join(longer, ", "));
}

std::vector<std::string> notes_of_inputs(const Plan& plan, const Topology& topology, const Measurement& m) {
  std::vector<std::string> notes = m.disturbances;
  const auto note = [&](std::optional<std::string> text) {
    if (text) notes.push_back(std::move(*text));
  };
  const Workload& workload = *plan.workload;
  note(crowd(m.load_before, topology.processors.size()));
  if (workload.mix().has(OpKind::kMultiGet) && !m.finds_batches) {
    note(fmt::format("{} takes no batches: the keys of a multi-get are looked up by a call each",
                     plan.config.index.name));
  }
  if (plan.servers > plan.seats.free.size()) {
    note(fmt::format("the server thread of {} shares a processor with others: threads that call the index have all {}",
                     plan.config.sync.name, plan.seats.processors));
  }
  note(rounded_up(workload.phases()));
  if (const auto& file = workload.wiscer()) {
    for (std::string& text : overridden(*file, plan.config)) note(std::move(text));
  }
  if (const auto& trace = workload.trace()) note(resized(*trace, plan.config.value_size));
  return notes;
}

bool has_run(const Measurement& m, std::string_view phase) {
  return std::ranges::find(m.phases, phase, &Phases::Outcome::name) != m.phases.end();
}

/// Returns the remarks about the phases up to the measured one.
Remarks remarks_of_phases(const Plan& plan, const Measurement& m) {
  Remarks out;
  const auto fail = [&](std::string text) { out.push_back({Status::kFailed, std::move(text)}); };
  if (!m.join_failure.empty())
    fail(fmt::format("a thread cannot join the index: {}{}", m.join_failure, memory_out(m.join_failure, plan, m)));
  if (!plan.seats.binds) out.push_back({Status::kOk, "threads are not pinned: the topology describes another machine"});
  if (!m.pinned) out.push_back({Status::kOk, "the kernel refuses to pin threads"});
  if (plan.config.sized() && m.measured) {
    out.push_back(
        {Status::kOk, "sized values call the index through a virtual call: a ratio to --value-size=8 includes it"});
  }
  for (const Phases::Outcome& phase : m.phases) {
    if (!phase.failure.empty())
      fail(fmt::format("{} in phase {}{}", phase.failure, phase.name, memory_out(phase.failure, plan, m)));
  }
  if (!m.measured) {
    if (const auto found = obstacle(plan, m)) out.push_back(*found);
  }
  if (!m.count_failure.empty()) fail(m.count_failure);
  return out;
}

/// Returns the remark that the index was full, with how many keys, and `when`.
std::string full(const Plan& plan, const Measurement& m, std::string_view when) {
  const std::string room = plan.most_keys == ~u64{0} ? std::string() : fmt::format(" in {} slots", plan.most_keys);
  return fmt::format("the index was full, with {} keys{}, {}", m.tally.keys(), room, when);
}

/// Returns true if all further inserts fail, since every key is in the index.
bool used_up(const Workload& workload, const Measurement& m) {
  if (workload.by_file() || !workload.phases().empty()) return false;  // a file has reserved keys for its inserts
  const Mix& mix = workload.mix();
  const bool only_grows = mix.has(OpKind::kInsert) && !mix.fills() && !mix.has(OpKind::kErase);
  return only_grows && m.keeps && m.tally.keys() == m.key_capacity;
}

Ending ending_of(const Plan& plan, const Measurement& m) {
  const MeasuredPhase& phase = *m.measured;
  const u64 done = phase.metered.operations, asked = plan.config.ops;
  const bool ends = plan.workload->trace() || !plan.workload->phases().empty();
  return phase.stopped                      ? Ending::kSignal
         : m.full                           ? Ending::kFull
         : ends && done >= phase.left       ? Ending::kWorkload
         : done < phase.total               ? Ending::kTime
         : asked > 0 && asked <= phase.left ? Ending::kOperations
                                            : Ending::kRecords;
}

/// Returns notes about a surprising end: a full index, a trace of which the warm-up did a part, or an end before those
/// that options set.
Remarks early_end(const Plan& plan, const Measurement& m, const Throughput& t) {
  Remarks out;
  if (m.failed()) return out;
  const auto note = [&](std::string text) { out.push_back({Status::kOk, std::move(text)}); };
  const Config& config = plan.config;
  const Workload& workload = *plan.workload;
  const u64 before = m.stream_size - m.measured->left;  // operations that the warm-up did
  if (t.ended_by == Ending::kFull) note(full(plan, m, "and so the run ended"));
  if (workload.trace() && before > 0) {
    note(fmt::format("the warm-up did the first {} operations of the trace's {}", before, m.stream_size));
  }
  if (t.ended_by == Ending::kWorkload && (config.time_ns > 0 || config.ops > m.stream_size)) {
    note(fmt::format("the {} ended before the end that {} sets", workload.trace() ? "trace" : "workload",
                     config.time_ns > 0 ? "--time" : "--ops"));
  }
  if (const auto& phases = workload.phases(); !phases.empty() && t.ended_by != Ending::kWorkload) {
    std::size_t phase = 0;
    for (u64 end = phases[0].operations; end < before + t.operations; end += phases[phase].operations) ++phase;
    note(fmt::format("the run stopped in phase {} of {}, {}", phase + 1, phases.size(), phases[phase].name));
  }
  if (!workload.mix().fills()) return out;
  if (t.ended_by == Ending::kTime) {
    note(fmt::format("--time={} ended the run: {} of {} records were inserted, so the index was smaller",
                     duration_text(config.time_ns), t.operations, config.records));
  } else if (t.ended_by == Ending::kRecords && (config.time_ns > 0 || config.ops > 0)) {
    note(fmt::format("all {} records were inserted before the end that {} sets", config.records,
                     config.ops > 0 ? "--ops" : "--time"));
  }
  return out;
}

/// Returns the offered load. A run whose threads could not keep up with the rate is degraded: its response times depend
/// on its length.
Account<OrReason<OfferedLoad>> offer_account(const Config& config, const MeasuredPhase& phase,
                                             const OrReason<Throughput>& throughput) {
  if (!phase.offer) return {OrReason<OfferedLoad>::missing(kClosedLoop), {}};
  if (!throughput) return {};
  Account<OrReason<OfferedLoad>> out{*phase.offer, {}};
  if (config.rate && phase.offer->late) {  // a search for --slo reports it for every try
    out.remarks.push_back({Status::kDegraded, too_much(*phase.offer, throughput->per_second)});
  }
  return out;
}

OrReason<PmuResult> pmu_of(const Measurement& m, const OrReason<Throughput>& throughput) {
  if (m.events.empty()) return OrReason<PmuResult>::missing("--pmu=off");
  if (!throughput) return {};
  std::vector<std::vector<PmuCount>> threads;
  for (const MeasuredThread& thread : m.measured->threads) threads.push_back(thread.events);
  return pmu_account(m.events, threads, m.measured->packages, throughput->operations);
}

/// Returns the placement, except where each thread ran.
Placement placement_of(const Plan& plan, const Measurement& m) {
  using Nodes = OrReason<PageNodes>;
  Placement out;
  out.requested = plan.config.pin.text;
  out.mem = plan.config.mem.text;
  out.mem_by = !plan.not_placed.empty() ? OrReason<PlacedBy>::missing(plan.not_placed)
               : plan.places_chunks()   ? OrReason(PlacedBy::kChunks)
                                        : OrReason(PlacedBy::kThreads);
  out.processors = plan.seats.processors;
  out.oversubscribed = plan.seats.oversubscribed;
  if (m.operations() == 0) return out;
  out.page_nodes = !plan.own_memory.empty() ? Nodes::missing(plan.own_memory)
                   : plan.places_chunks()
                       ? m.page_nodes
                       : Nodes::missing("nodes are from malloc, which does not say where its memory is");
  return out;
}

/// Returns where each thread ran. `unseen` is the reason why a processor is missing.
std::vector<ThreadPlacement> places_of_threads(const Plan& plan, const Topology& topology, const Measurement& m,
                                               const std::string& unseen) {
  std::vector<std::optional<u32>> seen_on(plan.seats.threads());
  for (std::size_t t = 0; m.measured && t < m.measured->threads.size(); ++t)
    seen_on[t] = m.measured->threads[t].seen_on;
  return thread_places(topology, plan.seats, seen_on, unseen);
}

Validation validation_of(const Config& config, const Measurement& m) {
  Validation out;
  out.mode = config.validate;
  if (!m.keeps) return out;
  if (config.validate == Validate::kOff) return no_validation();
  if (m.contents) out = validate(m.tally, *m.contents);
  out.mode = config.validate;
  if (config.validate == Validate::kHistory) add_history(m.history, out);
  return out;
}

/// Returns the limits with the cost of an operation relative to them.
Limits limits_of(const Plan& plan, const Measurement& m, const Throughput& throughput) {
  constexpr const char* kWaits = "threads of an open loop also wait for operations: the time of one is its latency";
  if (!m.measured->offer) return with_limit_ratios(m.limits, throughput, plan.seats.processors);
  Limits out = m.limits;
  out.chase_ratio = out.independent_ratio = out.value_ratio = out.loop_share = OrReason<double>::missing(kWaits);
  return out;
}

}  // namespace

std::optional<Remark> obstacle(const Plan& plan, const Measurement& m) {
  const auto failed = [](std::string text) { return Remark{Status::kFailed, std::move(text)}; };
  if (!m.loaded) {
    const std::string mistakes = m.keeps ? describe_errors(m.tally) : std::string();
    if (!mistakes.empty()) {
      const char* const when = has_run(m, "verify") ? "verifying what was loaded" : "loading";
      return Remark{Status::kInvalid, fmt::format("while {}: {}", when, mistakes)};
    }
    if (m.full) return failed(full(plan, m, fmt::format("before all {} records were loaded", plan.config.records)));
    return std::nullopt;
  }
  if (plan.workload->trace() && m.left == 0) {
    return failed(
        fmt::format("the warm-up did all {} operations of the trace; --warmup=0 leaves it out", m.stream_size));
  }
  if (m.full) return failed(full(plan, m, "in the warm-up, which inserts too; --warmup=0 leaves it out"));
  if (!used_up(*plan.workload, m)) return std::nullopt;
  return failed(fmt::format(
      "no key is left to insert: all {} of --keys={} were in the index after the warm-up, which inserts too; "
      "load fewer --records",
      m.key_capacity, plan.config.keys.str()));
}

Account<Health> health_account(const Plan& plan, const Measurement& m) {
  Account<Health> out;
  Health& health = out.part;
  health.load_before = m.load_before;
  if (!m.measured) return out;
  const Disturbed disturbed = disturbed_between(m.measured->before, m.measured->after);
  health.voluntary_switches = disturbed.voluntary_switches;
  health.involuntary_switches = disturbed.involuntary_switches;
  health.migrations = disturbed.migrations;
  health.steal_share = disturbed.steal_share;
  std::vector<std::optional<ProcessorTime>> times;
  for (const MeasuredThread& thread : m.measured->threads) times.push_back(thread.processor_time);
  health.on_processor = plan.seats.oversubscribed
                            ? OrReason<double>::missing("threads that share processors take turns")
                            : on_processor(times);
  if (health.on_processor && *health.on_processor < kEnoughOnProcessor) {
    out.remarks.push_back(
        {Status::kNoisy, fmt::format("a thread was on a processor for {} of the time in which it could have run: "
                                     "other programs had it; run again on an idle machine",
                                     percent(*health.on_processor))});
  }
  if (health.steal_share && *health.steal_share >= kMuchSteal) {
    out.remarks.push_back(
        {Status::kOk, fmt::format("the host took {} of the processors' time", percent(*health.steal_share))});
  }
  return out;
}

Scheduling scheduling_account(const Plan& plan, const Measurement& m) {
  Scheduling out;
  if (!m.measured) return out;
  using Count = OrReason<u64>;
  u64 delay_ns = 0;
  ThreadWaits sum;
  bool timed = true, counted = true;
  for (const MeasuredThread& thread : m.measured->threads) {
    timed &= thread.processor_time.has_value();
    counted &= thread.waits.has_value();
    if (thread.processor_time) delay_ns += thread.processor_time->waited_ns;
    if (thread.waits) sum += *thread.waits;
  }
  out.run_delay_ns =
      timed ? Count(delay_ns)
            : Count::missing("the kernel does not tell how long a thread waited (/proc/thread-self/schedstat)");
  const std::string why = counted ? plan.no_wait : "threads in virtual time do not yield";
  const auto known = [&](u64 count) { return why.empty() ? Count(count) : Count::missing(why); };
  out.yields = known(sum.counts.yields);
  out.parks = known(sum.counts.parks);
  out.wakes = known(sum.counts.wakes);
  out.slice_extensions = plan.config.slice_extension == SliceExtensions::kOn && counted
                             ? Count(sum.slices)
                             : Count::missing("no thread asks for longer slices (--slice-extension)");
  if (!why.empty() || !plan.seats.oversubscribed) {
    const std::string unwatched = why.empty() ? "waits look at context switches if threads share processors" : why;
    out.late_handovers = out.preempted_outside_waits = Count::missing(unwatched);
    return out;
  }
  out.late_handovers = plan.config.wait == WaitBy::kPark
                           ? Count::missing("a thread that sleeps until it is woken has no processor")
                           : Count(sum.counts.late_handovers);
  out.preempted_outside_waits = m.measured->offer
                                    ? Count::missing("threads of an open loop yield while no request is due")
                                    : Count(sum.involuntary - sum.counts.involuntary_inside);
  return out;
}

Account<OrReason<Throughput>> throughput_account(const Plan& plan, const Measurement& m) {
  if (m.operations() == 0) {
    const std::string why =
        m.full ? full(plan, m, "before an operation was done") : "no operation was done in the measured phase";
    return {{}, {{Status::kFailed, why}}};
  }
  const MeasuredPhase& phase = *m.measured;
  Throughput t = phase.metered;
  t.interval_ns = plan.config.sample_ns;
  t.ended_by = ending_of(plan, m);
  t.generator_ns = phase.generator_ns ? OrReason(*phase.generator_ns)
                                      : OrReason<double>::missing("the kernel does not tell a thread's time");
  t.timed_share = phase.wall_seconds > 0 ? std::min(1.0, t.seconds / phase.wall_seconds) : 1;
  const Tally& all = phase.done;
  constexpr std::size_t kGets = static_cast<std::size_t>(OpKind::kMultiGet);
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    if (all.count[k] == 0) continue;
    const double share = static_cast<double>(all.count[k]) / static_cast<double>(t.operations);
    t.per_operation.push_back({.name = std::string(kWords<OpKind>[k]),
                               .count = all.count[k],
                               .succeeded = all.succeeded[k],
                               .per_second = t.per_second * share,
                               .keys = k == kGets ? all.gets : 0,
                               .found = k == kGets ? all.got : 0});
  }
  if (plan.config.station.mode == StationMode::kOff) {
    t.station_issued = t.station_applied = OrReason<u64>::missing("--station=off");
  } else {
    t.station_issued = all.issued;
    t.station_applied = all.applied;
  }
  Remarks remarks = early_end(plan, m, t);
  return {std::move(t), std::move(remarks)};
}

Account<OrReason<std::vector<NamedCount>>> reclaim_account(const MeasuredPhase& phase) {
  const auto &before = phase.reclaim_before, &after = phase.reclaim_after;
  if (!before || !after) return {OrReason<std::vector<NamedCount>>::missing(after.reason), {}};
  ReclaimCounters counts = counters_since(*before, *after);
  counts.pending = after->pending;
  Account<OrReason<std::vector<NamedCount>>> out{counts_of(counts), {}};
  if (counts.stalled > 0) {
    out.remarks.push_back(
        {Status::kOk, fmt::format("memory to reclaim piled up {} times: a thread was in one operation for a long time",
                                  counts.stalled)});
  }
  return out;
}

Account<MemoryUse> memory_account(const Plan& plan, const Topology& topology, const Measurement& m) {
  using Malloc = OrReason<MallocServer>;
  using Bytes = OrReason<u64>;
  Account<MemoryUse> out;
  MemoryUse& memory = out.part;
  memory.malloc = !plan.own_memory.empty()          ? Malloc::missing(plan.own_memory)
                  : calls_malloc(plan.config.alloc) ? Malloc(m.malloc)
                                                    : Malloc::missing("nodes are not from malloc");
  if (m.keeps) {
    memory.index_live = m.live_bytes;
    memory.index_reserved = m.reserved_bytes;
    memory.keys = m.tally.keys();
    if (m.keys_at_start) memory.keys_at_start = *m.keys_at_start;
    if (m.value_bytes) {
      memory.values_live = m.value_bytes->live;
      memory.values_reserved = m.value_bytes->reserved;
    } else {
      memory.values_live = memory.values_reserved = Bytes::missing(m.value_bytes.reason);
    }
    memory.bytes_per_key = m.tally.keys() > 0
                               ? OrReason(static_cast<double>(m.reserved_bytes) / static_cast<double>(m.tally.keys()))
                               : OrReason<double>::missing("the index is empty");
  }
  if (!m.measured) return out;
  auto media = media_account(plan, topology, m);
  memory.far = std::move(media.part);
  out.remarks = std::move(media.remarks);
  const MeasuredPhase& phase = *m.measured;
  const Disturbed disturbed = disturbed_between(phase.before, phase.after);
  memory.minor_faults = disturbed.minor_faults;
  memory.major_faults = disturbed.major_faults;
  memory.rss = phase.pages.known ? Bytes(phase.pages.rss) : Bytes::missing("/proc/self/smaps_rollup cannot be read");
  memory.huge_share = huge_share_between(m.pages_before, phase.pages);
  memory.page_bytes = page_bytes_between(m.pages_before, phase.pages);
  if (plan.config.clear_accessed_ns == 0) {
    memory.accessed_cleared = Bytes::missing("--clear-accessed=off");
  } else if (phase.accessed_cleared == 0) {
    const std::string why = phase.accessed_stay.value_or(fmt::format("writing {} cleared no bits", kClearRefs));
    memory.accessed_cleared = Bytes::missing(why);
    out.remarks.push_back({Status::kDegraded, "Accessed bits are not cleared: " + why});
  } else {
    memory.accessed_cleared = phase.accessed_cleared;
  }
  return out;
}

Limits with_limit_ratios(Limits limits, const Throughput& throughput, u32 processors) {
  const double operation_ns = throughput.seconds * 1e9 * processors / static_cast<double>(throughput.operations);
  if (limits.chase_ns && *limits.chase_ns > 0) limits.chase_ratio = operation_ns / *limits.chase_ns;
  if (limits.independent_ns && *limits.independent_ns > 0) {
    limits.independent_ratio = operation_ns / *limits.independent_ns;
  }
  if (limits.words_ns && limits.independent_ns) {
    limits.value_ratio =
        operation_ns / (*limits.words_ns + static_cast<double>(*limits.value_lines) * *limits.independent_ns);
  } else {
    limits.value_ratio =
        OrReason<double>::missing(limits.words_ns ? limits.independent_ns.reason : limits.words_ns.reason);
  }
  if (limits.loop_ns && operation_ns > 0) limits.loop_share = *limits.loop_ns / operation_ns;
  return limits;
}

TrialResult document(const Plan& plan, const Topology& topology, const Measurement& m) {
  const Config& config = plan.config;
  TrialResult out;
  const auto found = [&](Status status, const std::string& text) {
    status == Status::kOk ? out.health.notes.push_back(text) : out.worsen(status, text);
  };
  const auto fold = [&](const Remarks& remarks) {
    for (const Remark& remark : remarks) found(remark.status, remark.text);
  };
  const auto take = [&](auto& part, auto account) {
    part = std::move(account.part);
    fold(account.remarks);
  };
  const auto health = health_account(plan, m);
  out.health = health.part;
  out.scheduling = scheduling_account(plan, m);
  out.health.notes = notes_of_inputs(plan, topology, m);
  out.interrupted = m.interrupted;
  out.placement = placement_of(plan, m);
  out.stream = m.print;
  out.rows = m.rows;
  if (!plan.model) out.virtual_time = OrReason<VirtualTime>::missing("the run is measured");
  out.nodes_per_fetch = m.nodes_per_fetch;
  out.key_file = key_file_of(m);
  out.trace = trace_of(*plan.workload);
  out.wiscer = wiscer_file_of(*plan.workload);
  out.workload_phases = workload_phases_of(*plan.workload);
  if (config.latency_every == 0) {
    out.latency = OrReason<Latency>::missing(config.rate ? kUntimed : "single calls are timed with --latency");
  }
  if (!config.slo) {
    out.slo = OrReason<SloSearch>::missing("there is no bound to keep");
  } else if (m.slo) {
    out.slo = !m.slo->tries.empty() ? OrReason(*m.slo) : OrReason<SloSearch>::missing("no rate was tried");
  }
  for (const Phases::Outcome& phase : m.phases) out.add_phase(phase.name, phase.seconds, phase.operations);

  fold(remarks_of_phases(plan, m));
  if (m.slo) {
    if (const std::string why = why_no_rate(*config.slo, *m.slo, m.full); !why.empty()) found(Status::kDegraded, why);
  }
  fold(health.remarks);
  if (m.measured) {
    const MeasuredPhase& phase = *m.measured;
    take(out.throughput, throughput_account(plan, m));
    take(out.offer, offer_account(config, phase, out.throughput));
    take(out.sync, sync_account(phase, m.elides, config.batch.keys));
    out.pmu = pmu_of(m, out.throughput);
    for (const std::string& why : {plan.index_degraded, plan.mem_degraded}) {
      if (!why.empty()) found(Status::kDegraded, why);
    }
    take(out.sync.reclaim, reclaim_account(phase));
    if (config.latency_every != 0 && out.throughput)
      take(out.latency, latency_account(config, phase, *out.throughput, out.sync));
  }
  take(out.memory, memory_account(plan, topology, m));
  take(out.history, history_account(plan, m));
  if (m.measured && used_up(*plan.workload, m)) {
    found(Status::kOk,
          fmt::format("at the end all {} of --keys={} were in the index: inserts that came after the last of them "
                      "failed",
                      m.key_capacity, config.keys.str()));
  }
  if (!m.leave_failure.empty())
    found(Status::kFailed, fmt::format("a thread cannot leave the index: {}", m.leave_failure));
  if (!m.start_failure.empty())
    found(Status::kFailed, fmt::format("the threads cannot be started: {}", m.start_failure));
  if (!out.throughput) {
    if (m.interrupted) found(Status::kFailed, "the run was interrupted before the measured phase");
    nothing_measured(out, out.status == Status::kOk ? "the measured phase did not run" : out.reason);
  }

  out.placement.threads =
      places_of_threads(plan, topology, m, out.throughput ? "the kernel does not say" : out.throughput.reason);
  out.validation = validation_of(config, m);
  if (!m.keeps) {
    nothing_kept(out);
  } else {
    const std::string mistakes = describe_errors(m.tally);
    if (!mistakes.empty()) found(Status::kInvalid, "during the run: " + mistakes);
    // If memory ran out inside an operation, an index with memory of its own may have counted a key and not returned.
    const bool excused = out.status == Status::kFailed && !plan.own_memory.empty();
    if (!out.validation.passed.value.value_or(true) && !excused) found(Status::kInvalid, out.validation.detail);
    if (out.throughput) out.limits = limits_of(plan, m, *out.throughput);
  }
  if (!out.throughput) out.limits = no_limits("there is no throughput to compare with");
  for (const std::string& text : plan.inert) found(Status::kOk, text);
  return out;
}

}  // namespace latchlab
