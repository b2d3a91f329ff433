#include "harness/trial.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/cli_values.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/latency.h"
#include "harness/limits.h"
#include "harness/malloc_library.h"
#include "harness/meter.h"
#include "harness/offer.h"
#include "harness/phases.h"
#include "harness/placement.h"
#include "harness/pmu_account.h"
#include "harness/progress.h"
#include "harness/rows.h"
#include "harness/slo_search.h"
#include "harness/step_maker.h"
#include "harness/sync_account.h"
#include "harness/validate.h"
#include "src/memory/accessed_bits.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/stream.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr u64 kSamples = 1'000'000;  // reads of the verify phase; all records if there are fewer
constexpr u64 kMeasuredPhase = 1;    // the stream's phase of warm-up and measurement; loading is phase 0
constexpr u64 kMinLimitsNs = 10'000'000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One run, phase after phase.
class Run {
 public:
  Run(Trial& trial, const Config& config, const Topology& topology, Progress& progress)
      : trial_(trial),
        config_(config),
        topology_(topology),
        progress_(progress),
        seats_(seat(topology, config)),
        keys_(config.keys, config.seed),
        workload_(config.workload, config.negative),
        mix_(workload_.mix()),
        stream_(workload_.stream(config.seed, kMeasuredPhase, keys_, config.threads, Distribution(config.distribution), config.records,
                                 Churn::parse(config.churn))),
        maker_(*stream_, mix_.has(OpKind::kErase) || !trial.keeps(), config.widths.value),
        phases_(trial, config, seats_, maker_, mix_.has(OpKind::kErase) && !workload_.trace() ? config.records : 0, progress) {}

  TrialResult run() {
    out_.validation.mode = config_.validate;
    if (!config_.slo) out_.slo = Measured<SloSearch>::missing("there is no bound to keep");
    if (config_.latency_every == 0) out_.latency = Measured<Latency>::missing("single calls are timed with --latency");
    out_.placement.requested = config_.pin.text;
    out_.placement.mem = config_.mem.text;
    out_.placement.mem_by = !config_.not_placed.empty()    ? Measured<std::string>::missing(config_.not_placed)
                            : config_.places_chunks() ? Measured<std::string>("chunks")
                                                      : Measured<std::string>("threads");
    out_.health.load_before = load_average();
    out_.health.notes = disturbances();
    if (auto note = crowd(out_.health.load_before, topology_.processors.size())) out_.health.notes.push_back(*note);
    if (keys_.from_lines()) {
      const KeySet::Lines& lines = keys_.lines();
      out_.key_file = KeyFile{.lines = lines.total, .empty = lines.empty, .repeated = lines.repeated};
    } else {
      out_.key_file = Measured<KeyFile>::missing("the keys are from no file");
    }
    describe_file();
    if (!config_.own_memory.empty()) {
      out_.memory.malloc = Measured<MallocServer>::missing(config_.own_memory);
    } else if (calls_malloc(config_.alloc)) {
      out_.memory.malloc = malloc_server();
    } else {
      out_.memory.malloc = Measured<MallocServer>::missing("nodes are not from malloc");
    }
    out_.placement.processors = seats_.processors;
    out_.placement.oversubscribed = seats_.oversubscribed;
    pages_before_ = page_use();
    try {
      if (enter() && (mix_.fills() || (load() && verify()))) {
        retouch();
        if (!mix_.fills() && config_.warmup_ns > 0) warm_up();
        if (workload_.trace() && phases_.left() == 0) {
          worsen(Status::kFailed, fmt::format("the warm-up did all {} operations of the trace; --warmup=0 leaves it out", stream_->size()));
        }
        if (phases_.full()) worsen(Status::kFailed, full("in the warm-up, which inserts too; --warmup=0 leaves it out"));
        if (used_up()) {
          worsen(Status::kFailed,
                 fmt::format("no key is left to insert: all {} of --keys={} were in the index after the warm-up, which inserts "
                             "too; load fewer --records", keys_.capacity(), config_.keys.str()));
        }
        if (go_on()) {
          measure();
          if (used_up()) {
            out_.health.notes.push_back(fmt::format("at the end all {} of --keys={} were in the index: inserts that came after "
                                                    "the last of them failed", keys_.capacity(), config_.keys.str()));
          }
        }
      }
      leave();
    } catch (const std::exception& e) {
      worsen(Status::kFailed, fmt::format("the threads cannot be started: {}", e.what()));
    }
    phases_.end();
    out_.interrupted = stop_requested();
    if (!out_.throughput) {
      if (out_.interrupted) worsen(Status::kFailed, "the run was interrupted before the measured phase");
      nothing_measured(out_, out_.status == Status::kOk ? "the measured phase did not run" : out_.reason);
    }
    out_.placement.threads = places_of_threads();
    count_nodes();
    find_fingerprint();
    check();
    find_limits();
    progress_.end();
    return std::move(out_);
  }

 private:
  /// What a workload file says, which may change while its name stays.
  void describe_file() {
    out_.trace = Measured<TraceAbout>::missing("the workload is no trace");
    out_.wiscer = Measured<WiscerFile>::missing("the workload is no file of Wiscer");
    if (workload_.wiscer()) out_.wiscer = *workload_.wiscer();
    const auto& trace = workload_.trace();
    if (!trace) return;
    out_.trace = TraceAbout{.checksum = trace->checksum(), .operations = trace->ops().size(), .keys = trace->keys(),
                            .loaded = trace->loaded(), .has_times = trace->has_times()};
  }

  /// The worst status wins, and of equals the first; but in what a result is degraded is all said.
  void worsen(Status status, const std::string& reason) {
    if (status == Status::kDegraded && out_.status == status) {
      out_.reason += "; " + reason;
    } else if (status > out_.status) {
      out_.status = status;
      out_.reason = reason;
    }
  }

  bool go_on() const { return !stop_requested() && out_.status < Status::kSkipped; }

  // --- phases ---

  bool enter() {
    const std::string failure = phases_.begin();
    if (!failure.empty()) worsen(Status::kFailed, fmt::format("a thread cannot join the index: {}", failure));
    if (!seats_.binds) {
      out_.health.notes.push_back("threads are not pinned: the topology describes another machine");
    }
    const std::vector<Worker>& workers = phases_.workers();
    if (std::any_of(workers.begin(), workers.end(), [](const Worker& w) { return !w.pinned; })) {
      out_.health.notes.push_back("the kernel refuses to pin threads");
    }
    return failure.empty();
  }

  void leave() {
    if (const std::string failure = phases_.leave(); !failure.empty()) {
      worsen(Status::kFailed, fmt::format("a thread cannot leave the index: {}", failure));
    }
  }

  bool load() {
    if (config_.records == 0) return true;   // a file may say so
    const MixStream loading = MixStream::loading(config_.seed, keys_, config_.records);
    const StepMaker maker(loading, false, config_.widths.value);
    note(phases_.chunks("load", config_.records, [&](Worker& me, u64 first, u32 count) {
      return maker.make(first, count, me.ops, me.steps);
    }));
    if (phases_.full()) worsen(Status::kFailed, full(fmt::format("before all {} records were loaded", config_.records)));
    return go_on() && no_mistakes("loading");
  }

  bool verify() {
    const u64 samples = std::min(kSamples, config_.records);
    note(phases_.chunks("verify", samples, [&](Worker& me, u64 first, u32 count) {
      return make_checks(keys_, config_.records, samples, first, count, me.steps, config_.widths.value);
    }));
    return go_on() && no_mistakes("verifying what was loaded");
  }

  /// A page whose Accessed bit is clear (the kernel looked at it meanwhile) aborts every transaction that
  /// reads it; one plain read repairs it. So before an elided run everything is walked over once.
  void retouch() {
    if (!trial_.elides() || mix_.fills() || !go_on()) return;
    const auto start = Clock::now();
    progress_.begin("touch", 0, 0);
    const Contents contents = trial_.contents();
    add_phase("touch", seconds_since(start), contents.keys);
  }

  void warm_up() {
    if (!go_on()) return;
    note(phases_.phase("warmup", 0, config_.warmup_ns, [&](u32 t) { phases_.run_steps(t); }));
  }

  /// Whether inserts can only fail from now on.
  bool used_up() const {
    if (workload_.by_file()) return false;   // its inserts are of keys that it has for them
    const bool only_grows = mix_.has(OpKind::kInsert) && !mix_.fills() && !mix_.has(OpKind::kErase);
    return only_grows && trial_.keeps() && tally_of_all().keys == keys_.capacity();
  }

  /// What there was as a measured phase began.
  struct Before {
    PackageCounters packages;
    Measured<ReclaimCounters> reclaim;
    Disturbance disturbance;
  };

  void measure() {
    const u64 total = std::min(config_.ops > 0 ? config_.ops : ~u64{0}, phases_.left());
    rate_ = config_.rate;
    RowCutter rows(config_.rows.value_or(0), ends_of_phases(), phases_, events_, [&](auto steps) { return nodes_of(steps); });
    const std::string no_rows = why_no_rows();
    if (no_rows.empty()) phases_.between_rounds([&](const Worker& worker) { rows.look(worker); });
    const std::optional<Before> before = config_.slo ? search(total) : run_measured("measure", total);
    if (!before) return;
    const Disturbance after = disturbance_now();
    set_health(out_.health, before->disturbance, after);
    for (Worker& worker : phases_.workers()) {
      worker.counters_after = worker.session->counters();
      Tally done = worker.tally;
      worker.measured = (done -= worker.measured);
    }
    report_throughput(total);
    out_.rows = no_rows.empty() ? Measured<Rows>(rows.finish()) : Measured<Rows>::missing(no_rows);
    report_offer();
    report_sync();
    report_pmu(before->packages);
    if (!config_.index_degraded.empty()) worsen(Status::kDegraded, config_.index_degraded);
    if (!config_.mem_degraded.empty()) worsen(Status::kDegraded, config_.mem_degraded);
    report_reclaim(before->reclaim);
    if (config_.latency_every != 0) report_latency(config_.latency_every);
    report_memory(before->disturbance, after);
  }

  /// Those of the workload; none where --rows says how rows are cut.
  std::vector<RowCutter::End> ends_of_phases() const {
    std::vector<RowCutter::End> ends;
    if (config_.rows.value_or(0) != 0) return ends;
    u64 operations = 0;
    for (const WorkloadPhase& phase : workload_.phases()) {
      ends.push_back({.operations = operations += phase.operations, .name = phase.name});
    }
    return ends;
  }

  /// Why the measured phase is not cut into rows; empty where it is.
  std::string why_no_rows() const {
    if (config_.rows.value_or(0) == 0 && workload_.phases().empty()) return "rows are asked for with --rows";
    if (config_.rate || config_.slo) return "an open loop has no rounds to cut between";
    return seats_.oversubscribed ? "threads that share processors have no rounds to cut between" : "";
  }

  /// A phase that may be the one that is reported, at rate_; nothing where it cannot begin.
  std::optional<Before> run_measured(const std::string& name, u64 total) {
    if (!go_on()) return std::nullopt;   // what the one before has left behind stays
    left_ = phases_.left();
    phases_.limit_to(total);
    const u32 every = config_.latency_every;
    for (Worker& worker : phases_.workers()) {
      if (every != 0) worker.latencies = std::make_unique<Latencies>(every, config_.batch.keys);
      worker.counters_before = worker.session->counters();
      worker.measured = worker.tally;
      worker.lag = {};
      worker.until.reset();
    }
    if (trial_.keeps()) out_.memory.keys_at_start = tally_of_all().keys;
    Before before{.packages = count_events(), .reclaim = trial_.reclaim(), .disturbance = disturbance_now()};
    if (out_.status >= Status::kSkipped) return std::nullopt;
    for (const auto& package : before.packages) package->begin();
    const bool endless = total == ~u64{0} || total >= Stream::kEndless;
    const auto task = [&](u32 t) {
      rate_ ? phases_.run_arrivals(t, *rate_, config_.time_ns) : phases_.run_steps(t);
      phases_.workers()[t].seen_on = this_cpu();
    };
    const Phases::Outcome phase =
        phases_.phase(name, endless ? 0 : total, config_.time_ns, task, config_.sample_ns, rate_.has_value());
    note(phase);
    accessed_cleared_ = phase.accessed_cleared;
    for (const auto& package : before.packages) package->end();
    measured_ns_ = static_cast<u64>(phases_.rounds().wall_seconds() * 1e9);
    return before;
  }

  double done_per_second() const {
    const double seconds = phases_.rounds().seconds();
    return seconds > 0 ? static_cast<double>(phases_.meter().operations()) / seconds : 0;
  }

  /// Tries rates until one is the answer; returns what there was before that one.
  std::optional<Before> search(u64 total) {
    std::optional<Before> before = run_measured("closed", total);
    if (!before) return before;
    const auto goes_on = [&] { return go_on() && !phases_.full(); };
    const auto try_at = [&](u64 per_second) -> std::optional<Tried> {
      if (!goes_on()) return std::nullopt;
      rate_ = Rate{.law = Rate::Law::kPoisson, .per_second = per_second};
      std::optional<Before> next = run_measured("try", total);
      if (!next) return std::nullopt;
      before = std::move(next);
      Tried one{.done_per_second = done_per_second(), .responses = {}, .late = false, .whole = goes_on()};
      one.late = late(lag_of(phases_.workers()), phases_.rounds().seconds());
      for (const Worker& worker : phases_.workers()) one.responses += worker.latencies->responses();
      return one;
    };
    SloSearch told = search_for_slo(*config_.slo, done_per_second(), least_rate(*config_.slo, config_.latency_every, config_.time_ns),
                                    try_at);
    if (told.answer == RateSearch::Answer::kUnsteady) {
      worsen(Status::kDegraded, fmt::format("no rate keeps --slo={} twice: what kept it broke it when it was tried again, in {} "
                                            "tries", config_.slo->str(), told.tries.size()));
    } else if (told.answer == RateSearch::Answer::kUnfinished) {
      worsen(Status::kDegraded, fmt::format("the search for --slo={} has no answer: {} after {} tries", config_.slo->str(),
                                            phases_.full() ? "the index was full" : "it was interrupted", told.tries.size()));
    }
    out_.slo = !told.tries.empty() ? Measured(std::move(told)) : Measured<SloSearch>::missing("no rate was tried");
    return before;
  }

  /// On all threads; and on the packages that they run in, for what is counted of those.
  PackageCounters count_events() {
    if (events_.empty()) return {};
    if (const std::string failure = phases_.count(events_); !failure.empty()) worsen(Status::kFailed, failure);
    return count_packages(events_, topology_, seats_);
  }

  void note(const Phases::Outcome& phase) {
    if (!phase.failure.empty()) worsen(Status::kFailed, fmt::format("{} in phase {}", phase.failure, phase.name));
    add_phase(phase.name, phase.seconds, phase.operations);
  }

  void add_phase(const std::string& name, double seconds, u64 operations) {
    PhaseTime time;
    time.name = name;
    time.seconds = seconds;
    time.operations = operations;
    if (operations > 0 && seconds > 0) time.per_second = static_cast<double>(operations) / seconds;
    out_.phases.push_back(std::move(time));
  }

  // --- what was seen ---

  Tally tally_of_all() const {
    Tally all;
    for (const Worker& worker : phases_.workers()) all += worker.tally;
    return all;
  }

  bool no_mistakes(std::string_view when) {
    const std::string mistakes = trial_.keeps() ? describe_errors(tally_of_all()) : std::string();
    if (mistakes.empty()) return true;
    worsen(Status::kInvalid, fmt::format("while {}: {}", when, mistakes));
    return false;
  }

  /// That the index was full: with what in it, and `when`.
  std::string full(std::string_view when) const {
    const std::string room = config_.most_keys == ~u64{0} ? std::string() : fmt::format(" in {} slots", config_.most_keys);
    return fmt::format("the index was full, with {} keys{}, {}", tally_of_all().keys, room, when);
  }

  /// `total`: how many operations there would have been without an end by time.
  void report_throughput(u64 total) {
    const double seconds = phases_.rounds().seconds();
    const double wall = phases_.rounds().wall_seconds();
    Tally all;
    u64 making = 0;
    u64 made = 0;
    bool clocked = true;
    for (const Worker& worker : phases_.workers()) {
      all += worker.measured;
      clocked &= worker.clocked;
      making += worker.making_ns;
      made += worker.made;
    }
    Throughput throughput = phases_.meter().throughput(seconds);
    if (throughput.operations == 0 || seconds <= 0) {
      worsen(Status::kFailed,
             phases_.full() ? full("before an operation was done") : "no operation was done in the measured phase");
      return;
    }
    throughput.interval_ns = config_.sample_ns;
    throughput.ended_by = stop_requested()                                   ? Ending::kSignal
                          : phases_.full()                                   ? Ending::kFull
                          : workload_.trace() && throughput.operations >= left_ ? Ending::kTrace
                          : throughput.operations < total                    ? Ending::kTime
                          : config_.ops > 0 && config_.ops <= left_          ? Ending::kOperations
                                                                             : Ending::kRecords;
    throughput.generator_ns =
        clocked ? Measured<double>(static_cast<double>(making) / static_cast<double>(made))
                : Measured<double>::missing("the kernel does not tell a thread's time");
    throughput.timed_share = wall > 0 ? std::min(1.0, seconds / wall) : 1;
    note_early_end(throughput);
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      if (all.count[k] == 0) continue;
      const double share = static_cast<double>(all.count[k]) / static_cast<double>(throughput.operations);
      throughput.per_operation.push_back({.name = std::string(kOpNames[k]),
                                          .count = all.count[k],
                                          .succeeded = all.succeeded[k],
                                          .per_second = throughput.per_second * share});
    }
    out_.throughput = std::move(throughput);
  }

  /// An end that may come as a surprise: of the two of an insert run the nearer one, and of any run a full index.
  void note_early_end(const Throughput& t) {
    if (out_.status >= Status::kFailed) return;
    if (t.ended_by == Ending::kFull) {
      out_.health.notes.push_back(full("and so the run ended"));
    }
    if (workload_.trace() && left_ < stream_->size()) {
      out_.health.notes.push_back(fmt::format("the warm-up did the first {} operations of the trace's {}", stream_->size() - left_,
                                              stream_->size()));
    }
    if (t.ended_by == Ending::kTrace && (config_.time_ns > 0 || config_.ops > stream_->size())) {
      out_.health.notes.push_back(fmt::format("the trace ended before the end that {} sets", config_.time_ns > 0 ? "--time" : "--ops"));
    }
    if (!mix_.fills()) return;
    if (t.ended_by == Ending::kTime) {
      out_.health.notes.push_back(
          fmt::format("--time={} ended the run: {} of {} records were inserted, so the index was smaller",
                      duration_text(config_.time_ns), t.operations, config_.records));
    } else if (t.ended_by == Ending::kRecords && (config_.time_ns > 0 || config_.ops > 0)) {
      out_.health.notes.push_back(fmt::format("all {} records were inserted before the end that {} sets",
                                              config_.records, config_.ops > 0 ? "--ops" : "--time"));
    }
  }

  /// An open loop that its threads cannot bear measures how long it was looked at.
  void report_offer() {
    if (!rate_) {
      out_.offer = Measured<Offer>::missing(kClosedLoop);
      return;
    }
    if (!out_.throughput) return;
    const double seconds = out_.throughput->seconds;
    const Offer offer = offer_of(phases_.workers(), *rate_, seconds);
    if (config_.rate && late(offer.lag, seconds)) {   // a search says it of every try
      worsen(Status::kDegraded, too_much(offer, out_.throughput->per_second));
    }
    out_.offer = offer;
  }

  void report_sync() {
    std::vector<std::vector<u64>> counted;
    for (const Worker& worker : phases_.workers()) {
      std::vector<u64>& own = counted.emplace_back(worker.counters_after);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] -= worker.counters_before[i];
    }
    const u64 operations = out_.throughput ? out_.throughput->operations : 0;
    SyncAccount account = sync_account(trial_, counted, phases_.meter().troubles(), operations, config_.batch.keys);
    out_.sync = std::move(account.stats);
    worsen(account.status, account.reason);
  }

  /// Closes the threads' events.
  void report_pmu(const PackageCounters& packages) {
    std::vector<std::vector<PmuCount>> of_threads, of_packages;
    for (Worker& worker : phases_.workers()) {
      if (worker.pmu) of_threads.push_back(worker.pmu->counts());
      worker.pmu.reset();
    }
    for (const auto& package : packages) of_packages.push_back(package->counts());
    if (events_.empty()) {
      out_.pmu = Measured<PmuResult>::missing("--pmu=off");
    } else if (out_.throughput) {
      out_.pmu = pmu_account(events_, of_threads, of_packages, out_.throughput->operations);
    }
  }

  void report_reclaim(const Measured<ReclaimCounters>& before) {
    const Measured<ReclaimCounters> after = trial_.reclaim();
    if (!before || !after) {
      out_.sync.reclaim = Measured<std::vector<NamedCount>>::missing(after.reason);
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
  void report_latency(u32 every) {
    Latencies all(every, config_.batch.keys);
    for (const Worker& worker : phases_.workers()) all += *worker.latencies;
    if (!out_.throughput) return;
    Latency latency = latency_of(all, out_.sync);
    if (latency.all.count == 0) {
      out_.latency = Measured<Latency>::missing(fmt::format("no call was timed: one in {} is, and there were fewer", every));
    } else {
      out_.latency = std::move(latency);
      if (!rate_) {
        out_.health.notes.push_back("timed calls overlap with no others: throughput is more without --latency");
      }
    }
  }

  void report_memory(const Disturbance& before, const Disturbance& after) {
    const PageUse pages = page_use();
    set_faults(out_.memory, before, after);
    out_.memory.rss = pages.known ? Measured<u64>(pages.rss)
                                  : Measured<u64>::missing("/proc/self/smaps_rollup cannot be read");
    out_.memory.huge_share = huge_share_between(pages_before_, pages);
    out_.memory.page_bytes = page_bytes_between(pages_before_, pages);
    if (config_.clear_accessed_ns == 0) {
      out_.memory.accessed_cleared = Measured<u64>::missing("--clear-accessed=off");
    } else if (accessed_cleared_ == 0) {
      const std::string why = why_accessed_stay().value_or(fmt::format("{} was written in vain", kClearRefs));
      out_.memory.accessed_cleared = Measured<u64>::missing(why);
      worsen(Status::kDegraded, "Accessed bits are not cleared: " + why);
    } else {
      out_.memory.accessed_cleared = accessed_cleared_;
    }
  }

  std::vector<ThreadPlace> places_of_threads() const {
    std::vector<std::optional<u32>> seen_on;
    for (const Worker& worker : phases_.workers()) seen_on.push_back(worker.seen_on);
    return thread_places(topology_, seats_, seen_on, out_.throughput ? "the kernel does not say" : out_.throughput.reason);
  }

  Measured<double> nodes_of(std::span<const Step> steps) {
    if (trial_.counts_nodes()) return trial_.nodes_per_fetch(slice_of(steps));
    return Measured<double>::missing("the index does not count the nodes that a lookup visits");
  }

  /// On the way to the keys of the next lookups, as the index is now: not of those that were done, from which it may have
  /// learned. Outside all times.
  void count_nodes() {
    constexpr u32 kFetches = 250'000;
    if (!out_.throughput) return;
    const auto missing = [this](const char* why) { out_.nodes_per_fetch = Measured<double>::missing(why); };
    if (mix_.fills()) return missing("the workload looks nothing up");
    if (!trial_.counts_nodes()) return missing("the index does not count the nodes that a lookup visits");
    const u64 first = phases_.next();
    const u32 count = static_cast<u32>(std::min<u64>(kFetches, phases_.end_of_first() - first));
    if (count == 0) return missing("no operation of the workload is left whose way could be counted");
    std::vector<Op> ops;
    std::vector<Step> steps;
    (void)maker_.make(first, count, ops, steps);
    out_.nodes_per_fetch = nodes_of(steps);
  }

  /// Of the beginning of the stream: of what threads made, which adds up to the same in whichever hands it was, and behind that of
  /// what they would have made. How far they came depends on the machine. In parts, operations have other numbers for other numbers
  /// of threads: then all are made once more, as for one.
  void find_fingerprint() {
    const auto stream = workload_.stream(config_.seed, kMeasuredPhase, keys_, 1, Distribution(config_.distribution), config_.records,
                                         Churn::parse(config_.churn));
    const bool in_parts = stream_->parts().size() != 2;
    u64 made = 0;
    for (const Worker& worker : phases_.workers()) made += in_parts ? 0 : worker.print;
    out_.stream = print_of(*stream, in_parts ? 0 : phases_.next(), made);
  }

  /// The index against the tally; nobody uses it any more.
  void check() {
    if (!trial_.keeps()) return nothing_kept(out_);
    const IndexBytes bytes = trial_.bytes();
    out_.memory.index_live = bytes.live;
    out_.memory.index_reserved = bytes.reserved;
    if (out_.throughput) out_.placement.page_nodes = page_nodes();
    const Tally all = tally_of_all();
    out_.memory.keys = all.keys;
    if (all.keys > 0) {
      out_.memory.bytes_per_key = static_cast<double>(bytes.reserved) / static_cast<double>(all.keys);
    } else {
      out_.memory.bytes_per_key = Measured<double>::missing("the index is empty");
    }
    if (const std::string mistakes = describe_errors(all); !mistakes.empty()) {
      worsen(Status::kInvalid, "during the run: " + mistakes);
    }
    if (config_.validate == Validate::kOff) {
      out_.validation = no_validation();
      return;
    }
    const auto start = Clock::now();
    progress_.begin("validate", 0, 0);
    out_.validation = validate(all, trial_.contents());
    add_phase("validate", seconds_since(start), all.keys);
    if (*out_.validation.passed) return;
    // An operation that memory ran out in may have counted and not returned, in an index with memory of its own.
    if (out_.status == Status::kFailed && !config_.own_memory.empty()) return;
    worsen(Status::kInvalid, out_.validation.detail);
  }

  Measured<PageNodes> page_nodes() const {
    using Nodes = Measured<PageNodes>;
    if (!config_.own_memory.empty()) return Nodes::missing(config_.own_memory);
    if (calls_malloc(config_.alloc)) return Nodes::missing("nodes are from malloc, which does not say where its memory is");
    return page_nodes_of(trial_.chunks());
  }

  void find_limits() {
    if (!out_.throughput) {
      out_.limits = no_limits("there is no throughput to compare with");
      return;
    }
    if (!trial_.keeps()) return;
    const auto start = Clock::now();
    progress_.begin("limits", 0, 0);
    LimitsPlan plan;
    plan.footprint = limits_footprint(trial_.bytes().reserved, available_memory());
    // The pages that the process got, the index most of all, which need not be those that were asked for.
    const bool huge = out_.memory.page_bytes.value.value_or(0) > 4096;
    plan.huge_pages = huge ? HugePages::kThp : HugePages::kNone;
    plan.pages = placement_of_limits(topology_, seats_, config_.pages);
    plan.time_ns = std::clamp(measured_ns_, kMinLimitsNs, plan.time_ns);  // a short run is not kept waiting
    const std::set<u32> distinct(seats_.cpus.begin(), seats_.cpus.end());
    plan.cpus.assign(distinct.begin(), distinct.end());
    plan.pin = seats_.binds;
    out_.limits = measure_limits(plan);
    if (rate_) {
      constexpr const char* kWaits = "threads of an open loop wait for operations, too: what one takes is its latency";
      out_.limits.chase_ratio = out_.limits.independent_ratio = Measured<double>::missing(kWaits);
    } else {
      set_limit_ratios(out_.limits, *out_.throughput, seats_.processors);
    }
    add_phase("limits", seconds_since(start), 0);
  }

  Trial& trial_;
  const Config& config_;
  const Topology& topology_;
  Progress& progress_;
  const Seats seats_;
  const KeySet keys_;
  const Workload workload_;
  const Mix& mix_;
  const std::unique_ptr<const Stream> stream_;
  const StepMaker maker_;
  const std::vector<PmuEvent> events_ = pmu_events(config_.pmu);
  Phases phases_;
  PageUse pages_before_;
  std::optional<Rate> rate_;   // of the measured phase; none: a closed loop
  u64 measured_ns_ = 0;
  u64 left_ = 0;   // operations of the stream as the measured phase began
  u64 accessed_cleared_ = 0;   // how often, in the measured phase
  TrialResult out_;
};

}  // namespace

TrialResult run_trial(Trial& trial, const Config& config, const Topology& topology, Progress& progress) {
  return Run(trial, config, topology, progress).run();
}

}  // namespace latchlab
