#include "harness/trial/account.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"
#include "harness/host/interrupt.h"
#include "harness/host/malloc_library.h"
#include "harness/host/on_processor.h"
#include "harness/loop/latency.h"
#include "harness/trial/latency_account.h"
#include "harness/trial/offer.h"
#include "harness/trial/sync_account.h"
#include "src/base/printable.h"
#include "src/memory/accessed_bits.h"

namespace latchlab {
namespace {

/// What a workload file says, which may change while its name stays.
void describe_file(const Workload& workload, TrialResult& out) {
  out.trace = OrReason<TraceAbout>::missing("the workload is no trace");
  out.wiscer = OrReason<WiscerFile>::missing("the workload is no file of Wiscer");
  out.workload_phases = OrReason<std::vector<PhaseAbout>>::missing("the workload is no file of phases");
  if (!workload.phases().empty()) out.workload_phases = about(workload.phases());
  if (workload.wiscer()) out.wiscer = *workload.wiscer();
  const auto& trace = workload.trace();
  if (!trace) return;
  out.trace = TraceAbout{.checksum = trace->checksum(), .operations = trace->ops().size(), .keys = trace->keys(),
                          .loaded = trace->loaded(), .has_times = trace->has_times()};
}

/// What a Wiscer file says of the run and options say otherwise.
std::vector<std::string> overridden(const WiscerFile& file, const Config& config) {
  std::vector<std::string> notes;
  if (file.engine && file.engine->index != config.index.name) {
    notes.push_back(fmt::format("--index={} overrides the file's storageEngine={}", config.index.str(), file.engine->word));
  }
  if (file.output) {
    notes.push_back(fmt::format("the file's outputFile={} is not written: --out=FOLDER keeps results, and harness rows prints them in "
                                "Wiscer's columns", printable(*file.output)));
  }
  return notes;
}

/// A replay writes values of one size, a multiple of eight bytes.
std::optional<std::string> resized(const Trace& trace, u32 value_size) {
  const Trace::Values& values = trace.values();
  const auto as_written = [&](u32 bytes) { return (u64{bytes} + 7) / 8 * 8 == value_size; };
  if (values.count == 0 || (as_written(values.shortest) && as_written(values.longest))) return std::nullopt;
  return fmt::format("the trace's values have {} bytes, {:.1f} on average, and those of its replay {} each (--value-size)",
                     values.shortest == values.longest ? fmt::format("{}", values.longest)
                                                       : fmt::format("{} to {}", values.shortest, values.longest),
                     static_cast<double>(values.bytes) / static_cast<double>(values.count), value_size);
}

/// Phases that have more operations than their file asks for.
std::optional<std::string> rounded_up(const std::vector<WorkloadPhase>& phases) {
  std::vector<std::string> longer;
  for (const WorkloadPhase& phase : phases) {
    if (phase.operations == phase.asked) continue;
    longer.push_back(fmt::format("{} has {} for {}", phase.name, phase.operations, phase.asked));
  }
  if (longer.empty()) return std::nullopt;
  return fmt::format("phases are whole blocks of {} operations: {}", Mix::kBlock, fmt::join(longer, ", "));
}

/// The mean time of a call over its keys.
constexpr double kMuchSteal = .05;

OrReason<double> per_key_ns(const Latency& latency, const std::vector<OperationRate>& rates, u32 batch) {
  const auto timed = [&](OpKind kind) { return std::ranges::count(latency.operations, word(kind), &OperationLatency::name) != 0; };
  if (timed(OpKind::kScan)) return OrReason<double>::missing("a scan has as many keys as it finds");
  if (!timed(OpKind::kMultiGet)) return latency.all.mean_ns / batch;
  if (latency.operations.size() > 1) return OrReason<double>::missing("multi-gets have several keys, and other timed calls one");
  const OperationRate& gets = *std::ranges::find(rates, word(OpKind::kMultiGet), &OperationRate::name);
  return latency.all.mean_ns * static_cast<double>(gets.count) / static_cast<double>(gets.keys);
}

class Account {
 public:
  Account(const RunParts& run, const MeasuredPhase& phase, const PageUse& pages_before, TrialResult& out)
      : run_(run), phase_(phase), pages_before_(pages_before), out_(out) {}

  void report() {
    const Disturbed disturbed = disturbed_between(phase_.before, disturbance_now());
    report_disturbed(disturbed);
    report_processors();
    for (Worker& worker : run_.phases.workers()) {
      worker.counters_after = worker.runner->counters();
      Tally done = worker.tally;
      worker.measured = (done -= worker.measured);
    }
    report_throughput();
    report_offer();
    report_sync();
    report_pmu();
    if (!run_.plan.index_degraded.empty()) out_.worsen(Status::kDegraded, run_.plan.index_degraded);
    if (!run_.plan.mem_degraded.empty()) out_.worsen(Status::kDegraded, run_.plan.mem_degraded);
    report_reclaim();
    if (run_.config.latency_every != 0) report_latency();
    report_memory(disturbed);
  }

 private:
  void report_disturbed(const Disturbed& disturbed) {
    out_.health.voluntary_switches = disturbed.voluntary_switches;
    out_.health.involuntary_switches = disturbed.involuntary_switches;
    out_.health.migrations = disturbed.migrations;
    out_.health.steal_share = disturbed.steal_share;
  }

  void report_processors() {
    std::vector<std::optional<ProcessorTime>> times;
    for (const Worker& worker : run_.phases.workers()) times.push_back(worker.processor_time);
    out_.health.on_processor = run_.plan.seats.oversubscribed ? OrReason<double>::missing("threads that share processors take turns")
                                                         : on_processor(times);
    judge_processors(out_);
  }

  void report_throughput() {
    const double seconds = run_.phases.rounds().seconds();
    const double wall = run_.phases.rounds().wall_seconds();
    Tally all;
    u64 making = 0;
    u64 made = 0;
    bool clocked = true;
    for (const Worker& worker : run_.phases.workers()) {
      all += worker.measured;
      clocked &= worker.clocked;
      making += worker.making_ns;
      made += worker.made;
    }
    Throughput throughput = run_.phases.meter().throughput(seconds);
    if (throughput.operations == 0 || seconds <= 0) {
      out_.worsen(Status::kFailed,
             run_.phases.full() ? run_.full("before an operation was done") : "no operation was done in the measured phase");
      return;
    }
    throughput.interval_ns = run_.config.sample_ns;
    const bool ends = run_.workload.trace() || !run_.workload.phases().empty();
    throughput.ended_by = stop_requested()                                        ? Ending::kSignal
                          : run_.phases.full()                                    ? Ending::kFull
                          : ends && throughput.operations >= phase_.left          ? Ending::kWorkload
                          : throughput.operations < phase_.total                  ? Ending::kTime
                          : run_.config.ops > 0 && run_.config.ops <= phase_.left ? Ending::kOperations
                                                                                  : Ending::kRecords;
    throughput.generator_ns =
        clocked ? OrReason<double>(static_cast<double>(making) / static_cast<double>(made))
                : OrReason<double>::missing("the kernel does not tell a thread's time");
    throughput.timed_share = wall > 0 ? std::min(1.0, seconds / wall) : 1;
    note_early_end(throughput);
    constexpr std::size_t kGets = static_cast<std::size_t>(OpKind::kMultiGet);
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      if (all.count[k] == 0) continue;
      const double share = static_cast<double>(all.count[k]) / static_cast<double>(throughput.operations);
      throughput.per_operation.push_back({.name = std::string(kWords<OpKind>[k]),
                                          .count = all.count[k],
                                          .succeeded = all.succeeded[k],
                                          .per_second = throughput.per_second * share,
                                          .keys = k == kGets ? all.gets : 0,
                                          .found = k == kGets ? all.got : 0});
    }
    out_.throughput = std::move(throughput);
  }

  /// An end that may come as a surprise: of the two of an insert run the nearer one, and of any run a full index.
  void note_early_end(const Throughput& t) {
    if (out_.status >= Status::kFailed) return;
    if (t.ended_by == Ending::kFull) {
      out_.health.notes.push_back(run_.full("and so the run ended"));
    }
    if (run_.workload.trace() && phase_.left < run_.stream().size()) {
      out_.health.notes.push_back(fmt::format("the warm-up did the first {} operations of the trace's {}",
                                              run_.stream().size() - phase_.left, run_.stream().size()));
    }
    if (t.ended_by == Ending::kWorkload && (run_.config.time_ns > 0 || run_.config.ops > run_.stream().size())) {
      out_.health.notes.push_back(fmt::format("the {} ended before the end that {} sets",
                                              run_.workload.trace() ? "trace" : "workload",
                                              run_.config.time_ns > 0 ? "--time" : "--ops"));
    }
    if (const auto& phases = run_.workload.phases(); !phases.empty() && t.ended_by != Ending::kWorkload) {
      const u64 last = run_.stream().size() - phase_.left + t.operations - 1;   // operation that was done
      const std::vector<u64> ends = run_.stream().sections();
      const auto phase = static_cast<std::size_t>(std::ranges::upper_bound(ends, last) - ends.begin());
      out_.health.notes.push_back(fmt::format("the run stopped in phase {} of {}, {}", phase + 1, phases.size(),
                                              phases[phase].name));
    }
    if (!run_.workload.mix().fills()) return;
    if (t.ended_by == Ending::kTime) {
      out_.health.notes.push_back(
          fmt::format("--time={} ended the run: {} of {} records were inserted, so the index was smaller",
                      duration_text(run_.config.time_ns), t.operations, run_.config.records));
    } else if (t.ended_by == Ending::kRecords && (run_.config.time_ns > 0 || run_.config.ops > 0)) {
      out_.health.notes.push_back(fmt::format("all {} records were inserted before the end that {} sets",
                                              run_.config.records, run_.config.ops > 0 ? "--ops" : "--time"));
    }
  }

  /// An open loop that its threads cannot bear measures how long it was looked at.
  void report_offer() {
    if (!phase_.offer) {
      out_.offer = OrReason<Offer>::missing(kClosedLoop);
      return;
    }
    if (!out_.throughput) return;
    if (run_.config.rate && phase_.offer->late) {   // a search says it of every try
      out_.worsen(Status::kDegraded, too_much(*phase_.offer, out_.throughput->per_second));
    }
    out_.offer = *phase_.offer;
  }

  void report_sync() {
    std::vector<std::vector<u64>> counted;
    for (const Worker& worker : run_.phases.workers()) {
      std::vector<u64>& own = counted.emplace_back(worker.counters_after);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] -= worker.counters_before[i];
    }
    const u64 operations = out_.throughput ? out_.throughput->operations : 0;
    SyncAccount account = sync_account(run_.trial, counted, run_.phases.meter().troubles(), operations, run_.config.batch.keys);
    out_.sync = std::move(account.stats);
    out_.worsen(account.status, account.reason);
  }

  /// Closes the threads' events.
  void report_pmu() {
    std::vector<std::vector<PmuCount>> of_threads, of_packages;
    for (Worker& worker : run_.phases.workers()) {
      if (worker.pmu) of_threads.push_back(worker.pmu->counts());
      worker.pmu.reset();
    }
    for (const auto& package : phase_.packages) of_packages.push_back(package->counts());
    if (run_.events.empty()) {
      out_.pmu = OrReason<PmuResult>::missing("--pmu=off");
    } else if (out_.throughput) {
      out_.pmu = pmu_account(run_.events, of_threads, of_packages, out_.throughput->operations);
    }
  }

  void report_reclaim() {
    const OrReason<ReclaimCounters>& before = phase_.reclaim;
    const OrReason<ReclaimCounters> after = run_.trial.reclaim();
    if (!before || !after) {
      out_.sync.reclaim = OrReason<std::vector<NamedCount>>::missing(after.reason);
      return;
    }
    ReclaimCounters counts = counters_since(*before, *after);
    counts.pending = after->pending;
    out_.sync.reclaim = counts_of(counts);
    if (counts.stalled > 0) {
      out_.health.notes.push_back(
          fmt::format("memory to reclaim piled up {} times: a thread was long in its operation", counts.stalled));
    }
  }

  /// After report_sync, which says what the policy counts.
  void report_latency() {
    const u32 every = run_.config.latency_every;
    Latencies all(every, run_.config.batch.keys);
    for (const Worker& worker : run_.phases.workers()) all += *worker.latencies;
    if (!out_.throughput) return;
    Latency latency = latency_of(all, out_.sync);
    if (latency.all.count == 0) {
      out_.latency = OrReason<Latency>::missing(fmt::format("no call was timed: one in {} is, and there were fewer", every));
    } else {
      const Throughput& all_calls = *out_.throughput;
      const double threads_ns = all_calls.seconds * 1e9 * static_cast<double>(run_.phases.workers().size());
      latency.share_of_time = std::min(1.0, static_cast<double>(latency.all.count) * latency.all.mean_ns / threads_ns);
      latency.per_key_ns = per_key_ns(latency, all_calls.per_operation, run_.config.batch.keys);
      if (!phase_.offer) out_.health.notes.push_back(cost_of_timing(latency, all_calls.operations, run_.config.batch.keys));
      out_.latency = std::move(latency);
    }
  }

  void report_memory(const Disturbed& disturbed) {
    const PageUse pages = page_use();
    out_.memory.minor_faults = disturbed.minor_faults;
    out_.memory.major_faults = disturbed.major_faults;
    out_.memory.rss = pages.known ? OrReason<u64>(pages.rss)
                                  : OrReason<u64>::missing("/proc/self/smaps_rollup cannot be read");
    out_.memory.huge_share = huge_share_between(pages_before_, pages);
    out_.memory.page_bytes = page_bytes_between(pages_before_, pages);
    if (run_.config.clear_accessed_ns == 0) {
      out_.memory.accessed_cleared = OrReason<u64>::missing("--clear-accessed=off");
    } else if (phase_.accessed_cleared == 0) {
      const std::string why = why_accessed_stay().value_or(fmt::format("{} was written in vain", kClearRefs));
      out_.memory.accessed_cleared = OrReason<u64>::missing(why);
      out_.worsen(Status::kDegraded, "Accessed bits are not cleared: " + why);
    } else {
      out_.memory.accessed_cleared = phase_.accessed_cleared;
    }
  }

  const RunParts& run_;
  const MeasuredPhase& phase_;
  const PageUse& pages_before_;
  TrialResult& out_;
};

}  // namespace

void judge_processors(TrialResult& result) {
  const Health& health = result.health;
  if (health.on_processor && *health.on_processor < kEnoughOnProcessor) {
    const std::string share = percent(*health.on_processor);
    result.worsen(Status::kNoisy, fmt::format("a thread was on a processor for {} of the time in which it could have run: others "
                                              "had it, and an idle machine does more", share));
  }
  if (health.steal_share && *health.steal_share >= kMuchSteal) {
    result.health.notes.push_back(fmt::format("the host took {} of the processors' time", percent(*health.steal_share)));
  }
}

void describe(const RunParts& run, TrialResult& out) {
  out.validation.mode = run.config.validate;
  if (!run.config.slo) out.slo = OrReason<SloSearch>::missing("there is no bound to keep");
  if (run.config.latency_every == 0) {
    out.latency = OrReason<Latency>::missing(run.config.rate ? kUntimed : "single calls are timed with --latency");
  }
  out.placement.requested = run.config.pin.text;
  out.placement.mem = run.config.mem.text;
  out.placement.mem_by = !run.plan.not_placed.empty()    ? OrReason<PlacedBy>::missing(run.plan.not_placed)
                          : run.plan.places_chunks() ? OrReason(PlacedBy::kChunks)
                                                    : OrReason(PlacedBy::kThreads);
  out.health.load_before = load_average();
  out.health.notes = disturbances();
  if (auto note = crowd(out.health.load_before, run.topology.processors.size())) out.health.notes.push_back(*note);
  if (run.workload.mix().has(OpKind::kMultiGet) && !run.trial.finds_batches()) {
    out.health.notes.push_back(fmt::format("{} takes no batches: the keys of a multi-get are looked up by a call each",
                                           run.config.index.name));
  }
  if (auto note = rounded_up(run.workload.phases())) out.health.notes.push_back(*note);
  if (run.keys.from_lines()) {
    const KeySet::Lines& lines = run.keys.lines();
    out.key_file = KeyFile{.lines = lines.total, .empty = lines.empty, .repeated = lines.repeated};
  } else {
    out.key_file = OrReason<KeyFile>::missing("the keys are from no file");
  }
  describe_file(run.workload, out);
  if (const auto& file = run.workload.wiscer()) {
    for (std::string& note : overridden(*file, run.config)) out.health.notes.push_back(std::move(note));
  }
  if (const auto& trace = run.workload.trace()) {
    if (auto note = resized(*trace, run.config.value_size)) out.health.notes.push_back(*note);
  }
  out.memory.payload = run.plan.payloads != 0 ? OrReason<u64>(run.plan.payload_bytes())
                                                : OrReason<u64>::missing("values are in the index: --value-size=8");
  if (!run.plan.own_memory.empty()) {
    out.memory.malloc = OrReason<MallocServer>::missing(run.plan.own_memory);
  } else if (calls_malloc(run.config.alloc)) {
    out.memory.malloc = malloc_server();
  } else {
    out.memory.malloc = OrReason<MallocServer>::missing("nodes are not from malloc");
  }
  out.placement.processors = run.plan.seats.processors;
  out.placement.oversubscribed = run.plan.seats.oversubscribed;
}

void account_for(const RunParts& run, const MeasuredPhase& phase, const PageUse& pages_before, TrialResult& out) {
  Account(run, phase, pages_before, out).report();
}

}  // namespace latchlab
