#include "harness/trial/run_trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/host/clock.h"
#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/limits.h"
#include "harness/host/malloc_library.h"
#include "harness/host/placement.h"
#include "harness/host/pmu_events.h"
#include "harness/host/progress.h"
#include "harness/host/recorder.h"
#include "harness/host/thread_team.h"
#include "harness/loop/histogram.h"
#include "harness/loop/latency.h"
#include "harness/loop/trial.h"
#include "harness/trial/account.h"
#include "harness/trial/measurement.h"
#include "harness/trial/offered_load.h"
#include "harness/trial/phases.h"
#include "harness/trial/rows.h"
#include "harness/trial/slo_search.h"
#include "harness/trial/request_maker.h"
#include "src/history/check_history.h"
#include "src/history/history_file.h"
#include "src/history/recorder.h"
#include "src/machine/native.h"
#include "src/memory/accessed_bits.h"
#include "src/memory/values.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/stream.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

constexpr u64 kSamples = 1'000'000;  // reads of the verify phase; all records if there are fewer

/// Returns the median measured time of an empty call, ns.
double look_ns(Clock& clock) {
  Histogram empty;
  for (int i = 0; i < 1001; ++i) {
    const u64 start = clock.now();
    empty.add(clock.now() - start);
  }
  return static_cast<double>(empty.at_rank(501));
}

/// One run of a plan, phase after phase.
class Run {
 public:
  Run(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team, Progress& progress,
      Recorder* recorder, Trial* null)
      : trial_(trial),
        null_(null),
        plan_(plan),
        topology_(topology),
        team_(team),
        progress_(progress),
        recorder_(recorder),
        keys_(config_.keys, config_.seed),
        stream_(stream_for(config_.threads)),
        // The stamps of loaded records come before, so no two operations on a key write the same value.
        recording_(trial.keeps() ? config_.recording() : std::nullopt),
        maker_(*stream_, mix_.has(OpKind::kErase) || !trial.keeps(), plan.widths.value, config_.records,
               recorded_keys()),
        window_(mix_.has(OpKind::kErase) && !workload_.trace()
                    ? workload_.least_records(config_.records, keys_.capacity())
                    : 0),
        phases_(trial, plan, maker_, window_, team, progress) {
    if (!recording_) return;
    history_.emplace(config_.threads, recording_->room_for(config_.records, config_.threads));
    phases_.record(*history_);
  }

  Measurement run() {
    look_before();
    if (without_time([&] { return enter() && (mix_.fills() || (load() && verify())); })) {
      m_.loaded = true;
      if (recorder_ != nullptr && goes_on()) recorder_->prepare();
      retouch();
      if (!mix_.fills() && (config_.warmup_ns > 0 || plan_.warmup_operations > 0)) warm_up();
      m_.left = phases_.left();
      if (unobstructed()) measure();
    }
    if (m_.start_failure.empty()) without_time([&] { return m_.leave_failure = phases_.leave(), true; });
    phases_.end();
    m_.interrupted = stop_requested();
    look_after();
    progress_.end();
    return std::move(m_);
  }

 private:
  bool goes_on() const { return !stop_requested() && !m_.failed(); }
  bool unobstructed() const { return goes_on() && !obstacle(plan_, m_); }

  void look_before() {
    m_.load_before = plan_.model ? OrReason<double>::missing("the machine is modelled") : load_average();
    m_.malloc = malloc_server();
    m_.pages_before = page_use();
    if (keys_.from_lines()) m_.key_lines = keys_.lines();
    m_.key_capacity = keys_.capacity();
    m_.stream_size = stream_->size();
    m_.keeps = trial_.keeps();
    m_.elides = trial_.elides();
    if (!plan_.model) m_.disturbances = disturbances(m_.elides);
    m_.finds_batches = trial_.finds_batches();
    m_.events = pmu_events(config_.pmu);
  }

  /// Starts the threads. Returns true if all of them have joined the index.
  bool enter() {
    try {
      m_.join_failure = phases_.begin();
    } catch (const std::system_error& error) {
      m_.start_failure = error.what();
      return false;
    }
    if (!m_.join_failure.empty()) m_.far = trial_.far();
    recorded_from_ = team_.clock().now();
    m_.pinned = std::ranges::all_of(phases_.workers(), &Worker::pinned);
    return m_.join_failure.empty();
  }

  /// Runs phases that take no time on a modelled machine. A thread that joins holds a std::mutex across references to
  /// memory. If they took time, other fibers would run meanwhile and wait for that mutex for ever.
  bool without_time(const auto& phases) {
    team_.load(true);
    const bool done = phases();
    team_.load(false);
    return done;
  }

  bool load() {
    if (config_.records == 0) return true;  // a workload's file may ask for no records
    const MixStream loading = MixStream::loading(config_.seed, keys_, config_.records);
    const RequestMaker maker(loading, false, plan_.widths.value, 0, recorded_keys());
    note(phases_.chunks("load", config_.records,
                        [&](Worker& me, u64 first, u32 count) { return me.requests.only(maker, first, count); }));
    return unobstructed();
  }

  bool verify() {
    const u64 samples = std::min(kSamples, config_.records);
    note(phases_.chunks("verify", samples, [&](Worker& me, u64 first, u32 count) {
      return make_checks(keys_, config_.records, samples, first, count, me.requests.only(), plan_.widths.value);
    }));
    return unobstructed();
  }

  /// Walks over the whole index before an elided run. A page whose Accessed bit is clear, since the kernel has scanned
  /// it, aborts every transaction that reads it; one plain read repairs that.
  void retouch() {
    if (!trial_.elides() || mix_.fills() || plan_.model || !goes_on()) return;
    timed("touch", [&] { return trial_.contents().keys; });
  }

  void warm_up() {
    if (!goes_on()) return;
    if (plan_.warmup_operations > 0) phases_.limit_to(plan_.warmup_operations);
    note(phases_.phase("warmup", 0, config_.warmup_ns, [&](u32 t) { phases_.run_requests(t); }));
  }

  void measure() {
    const u64 total = std::min(config_.ops > 0 ? config_.ops : ~u64{0}, phases_.left());
    const u64 every = config_.rows.value_or(0);
    RowCutter rows(every, every != 0 ? std::vector<std::string>() : names_of_phases(), phases_, m_.events,
                   [&](const Slice& ran) { return nodes_of(ran); });
    const std::string no_rows = why_no_rows();
    if (no_rows.empty()) {
      phases_.between_rounds([&](const Worker& worker) { rows.look(worker); });
      phases_.between_sections([&](std::size_t section) { rows.end_section(section); });
    }
    m_.measured = config_.slo ? search(total) : run_measured("measure", total, config_.rate);
    if (!m_.measured) return;
    // rows.finish() needs the threads' events, which are closed below.
    m_.rows = no_rows.empty() ? OrReason(rows.finish()) : OrReason<std::vector<ResultRow>>::missing(no_rows);
    for (Worker& worker : phases_.workers()) worker.pmu.reset();
  }

  /// Returns the names of the workload's phases.
  std::vector<std::string> names_of_phases() const {
    std::vector<std::string> names;
    for (const WorkloadPhase& phase : workload_.phases()) names.push_back(phase.name);
    return names;
  }

  /// Returns why the measured phase is not cut into rows; empty if it is.
  std::string why_no_rows() const {
    const bool of_phases = config_.rows.value_or(0) == 0;
    if (of_phases && workload_.phases().empty()) return "rows are asked for with --rows";
    if (config_.rate || config_.slo) return "an open loop has no rounds to cut between";
    return plan_.seats.oversubscribed && !of_phases ? "threads that share processors have no rounds to cut between"
                                                    : "";
  }

  /// Runs a phase that may become the reported one, in an open loop if there is a rate. Returns nothing if it cannot
  /// begin.
  std::optional<MeasuredPhase> run_measured(const std::string& name, u64 total, const std::optional<Rate>& rate) {
    if (!goes_on()) return std::nullopt;  // the results of the previous try stay
    MeasuredPhase measured;
    measured.total = total;
    measured.left = phases_.left();
    phases_.limit_to(total);
    const u32 every = config_.latency_every;
    for (Worker& worker : phases_.workers()) {
      if (every != 0) worker.latencies = latencies();
      worker.counters_before = worker.runner->counters();
      worker.measured = worker.tally;
      worker.loop.reset();
      worker.until.reset();
    }
    m_.keys_at_start = m_.tally.keys();
    const PackageCounters packages = count_events();
    if (!m_.count_failure.empty()) return std::nullopt;
    if (recorder_ != nullptr) recorder_->begin();
    measured.reclaim_before = trial_.reclaim();
    measured.far_before = trial_.far();
    measured.before = disturbance_now();
    for (const auto& package : packages) package->begin();
    const bool endless = total == ~u64{0} || total >= Stream::kEndless;
    const auto task = [&](u32 t) {
      Worker& me = phases_.workers()[t];
      me.meetings = {};
      const auto begin = team_.processor_time();
      const auto waits_before = team_.waits();
      rate ? phases_.run_arrivals(t, *rate, config_.time_ns) : phases_.run_requests(t);
      me.waits = team_.waits();
      if (me.waits) *me.waits -= *waits_before;
      const auto end = team_.processor_time();
      me.processor_time = begin && end ? std::optional(*end - *begin - me.meetings) : std::nullopt;
      me.seen_on = team_.cpu();
    };
    team_.measure();
    const Phases::Outcome phase =
        phases_.phase(name, endless ? 0 : total, config_.time_ns, task, config_.sample_ns, rate.has_value());
    team_.measured();
    note(phase);
    for (const auto& package : packages) {
      package->end();
      measured.packages.push_back(package->counts());
    }
    if (recorder_ != nullptr) recorder_->end();
    observe(measured);
    measured.accessed_cleared = phase.accessed_cleared;
    if (config_.clear_accessed_ns > 0 && phase.accessed_cleared == 0) measured.accessed_stay = why_accessed_stay();
    if (rate) measured.offer = offer_of(phases_.workers(), *rate, measured.metered.seconds, config_.time_ns);
    return measured;
  }

  std::unique_ptr<Latencies> latencies() const {
    return std::make_unique<Latencies>(config_.latency_every, config_.batch.keys, team_.clock());
  }

  /// Collects the results that the threads have left.
  void observe(MeasuredPhase& measured) {
    measured.after = disturbance_now();
    measured.pages = page_use();
    measured.reclaim_after = trial_.reclaim();
    measured.far_after = trial_.far();
    if (config_.far) measured.locked = locked_memory();
    measured.stopped = stop_requested();
    measured.metered = phases_.meter().throughput(phases_.rounds().seconds());
    measured.wall_seconds = phases_.rounds().wall_seconds();
    measured.contention = phases_.meter().contention();
    if (config_.latency_every != 0) {
      measured.latencies.emplace(config_.latency_every, config_.batch.keys, team_.clock());
      measured.clock_ns = look_ns(team_.clock());
    }
    u64 making = 0, made = 0;
    bool clocked = true;
    std::vector<u64> sums;
    for (const Worker& worker : phases_.workers()) {
      std::vector<u64> counted = worker.runner->counters();
      sums.resize(counted.size());
      for (std::size_t i = 0; i < counted.size(); ++i) sums[i] += counted[i] -= worker.counters_before[i];
      Tally done = worker.tally;
      measured.done += done -= worker.measured;
      clocked &= worker.clocked;
      making += worker.making_ns;
      made += worker.made;
      if (worker.latencies) *measured.latencies += *worker.latencies;
      measured.threads.push_back({.sync = trial_.sync_report(counted, 0).stats,
                                  .events = worker.pmu ? worker.pmu->counts() : std::vector<PmuCount>(),
                                  .processor_time = worker.processor_time,
                                  .waits = worker.waits,
                                  .seen_on = worker.seen_on});
    }
    measured.sync = trial_.sync_report(sums, measured.operations());
    if (clocked) measured.generator_ns = static_cast<double>(making) / static_cast<double>(made);
  }

  /// Tries rates until one is the answer; returns the last try.
  std::optional<MeasuredPhase> search(u64 total) {
    std::optional<MeasuredPhase> last = run_measured("closed", total, std::nullopt);
    if (!last) return last;
    const double closed_per_second = last->metered.per_second;
    const auto whole = [&] { return goes_on() && !m_.full; };
    const auto try_at = [&](u64 per_second) -> std::optional<Tried> {
      if (!whole()) return std::nullopt;
      std::optional<MeasuredPhase> next =
          run_measured("try", total, Rate{.law = Rate::Law::kPoisson, .per_second = per_second});
      if (!next) return std::nullopt;
      last = std::move(next);
      return Tried{.seconds = static_cast<double>(end_of_offer(last->metered.seconds, config_.time_ns)) / 1e9,
                   .offered = last->offer->arrivals,
                   .served = last->metered.operations,
                   .responses = last->latencies->responses(),
                   .late = last->offer->late,
                   .whole = whole()};
    };
    m_.slo = search_for_slo(*config_.slo, closed_per_second,
                            least_rate(*config_.slo, config_.latency_every, config_.time_ns), try_at);
    return last;
  }

  /// Begins to count events on all threads. Returns the counters of the packages that they run in.
  PackageCounters count_events() {
    if (m_.events.empty()) return {};
    m_.count_failure = phases_.count(m_.events);
    return count_packages(m_.events, topology_, plan_.seats);
  }

  void note(const Phases::Outcome& phase) {
    m_.phases.push_back(phase);
    if (!phase.failure.empty()) m_.far = trial_.far();
    if (history_ && !history_->goes_on() && !cut_in_) cut_in_ = phase.name;
    sum_up();
  }

  std::optional<KeyShare> recorded_keys() const { return recording_ ? std::optional(recording_->keys) : std::nullopt; }

  /// Takes the recorded calls, writes them into their file, and checks them for --validate=history.
  OrReason<RecordedHistory> take_history() {
    using None = OrReason<RecordedHistory>;
    if (!recording_) return None::missing("calls are recorded with --history or --validate=history");
    if (!phases_.not_recorded().empty()) return None::missing(phases_.not_recorded());
    RecordedHistory out;
    out.room = history_->room();
    out.preemptions = config_.preempt ? phases_.preemptions()
                                      : OrReason<PreemptionCounts>::missing("calls are interrupted with --preempt");
    RecordedCalls recorded = history_->collect();
    std::vector<KeyedCall>& calls = recorded.calls;
    out.calls = calls.size();
    out.pending =
        static_cast<u64>(std::ranges::count_if(calls, [](const KeyedCall& one) { return !one.call.has_returned(); }));
    if (recorded.cut) {
      out.ended_in = cut_in_.value_or("measure");
      out.ended_s = static_cast<double>(*recorded.cut - std::min(*recorded.cut, recorded_from_)) / 1e9;
    }
    if (!recording_->file.empty()) {
      try {
        HistoryWriter file(recording_->file, calls.size());
        for (const KeyedCall& one : calls) file.add(one.key, one.call);
        file.keep();
      } catch (const std::runtime_error& error) {
        out.not_written = error.what();
      }
    }
    if (config_.validate == Validate::kHistory) {
      timed("history", [&] { return out.verdict = check_history(calls), out.calls; });
    }
    return out;
  }

  void sum_up() {
    m_.full = phases_.full();
    m_.tally = {};
    for (const Worker& worker : phases_.workers()) m_.tally += worker.tally;
  }

  /// Observes what can be observed only when no thread uses the index any more, outside all measured times.
  void look_after() {
    sum_up();  // again, since an exception may have kept note() from it
    m_.print = fingerprint();
    if (m_.operations() > 0) m_.nodes_per_fetch = nodes_of_next();
    if (!m_.keeps) return;
    if (!m_.far) m_.far = trial_.far();
    if (config_.far) m_.lock_limit = lock_limit();
    const bool limits = m_.operations() > 0 && !plan_.model;
    const Ns loop = limits ? loop_ns() : Ns();
    m_.live_bytes = trial_.live_bytes();
    m_.reserved_bytes = trial_.reserved_bytes();
    m_.value_bytes = trial_.value_bytes();
    if (limits && plan_.places_chunks()) m_.page_nodes = page_nodes_of(trial_.chunks());
    if (m_.far) m_.far_page_nodes = page_nodes_of(m_.far->chunks);
    if (config_.validate != Validate::kOff) {
      timed("validate", [&] { return m_.contents = trial_.contents(), m_.tally.keys(); });
    }
    m_.history = take_history();
    if (limits) timed("limits", [&] { return m_.limits = team_.limits(plan_of_limits()), u64{0}; });
    if (limits && config_.far) timed("media", [&] { return measure_media(), u64{0}; });
    m_.limits.loop_ns = loop;
    m_.limits.words_ns = limits ? words_ns() : Ns();
    m_.limits.value_lines = m_.limits.words_ns ? OrReason<u64>(Values<Native>::lines(config_.value_size))
                                               : OrReason<u64>::missing(m_.limits.words_ns.reason);
  }

  /// Measures the two memories of values. Each has a budget of its own for that: the values may have used up theirs.
  void measure_media() {
    if (!m_.far) return;
    LimitsPlan plan = plan_of_limits();
    plan.time_ns /= 4;
    FarMemory memory = m_.far->memory;
    memory.memory.limit = MemoryBudget();
    m_.kernel_demotes = kernel_demotes();
    m_.far_times = measure_medium(plan, memory);
    m_.near_times = measure_medium(plan, {.memory = memory_config_of(plan_)});
  }

  using Ns = OrReason<double>;

  /// Measures a thread's time for an operation of the workload by the loop of the run, if the index does nothing. The
  /// best turn counts: a disturbance only makes a turn longer, and the first one warms the caches.
  Ns loop_ns() {
    if (const std::string why = why_no_turns(); !why.empty()) return Ns::missing(why);
    if (config_.sized()) return Ns::missing("the loop calls sized values, which the null index has not");
    if (null_ == nullptr) return Ns::missing("this build lacks the pair null:none");
    const OrReason<std::vector<double>> turns = turns_ns("loop", *null_, plan_of_loop(plan_), 5);
    return turns ? Ns(std::ranges::min(*turns)) : Ns::missing(turns.reason);
  }

  /// Measures a thread's time for a lookup that reads no sized value. The median turn counts: what a turn costs depends
  /// on the lines that it finds in the caches. From then on the index reads no values.
  Ns words_ns() {
    if (!config_.sized()) return Ns::missing("values are in the index: --value-size=8");
    if (const std::string why = why_no_turns(); !why.empty()) return Ns::missing(why);
    if (mix_.changes()) return Ns::missing("the workload also changes the index");
    Plan plan = plan_;
    plan.widths.value = 0;
    trial_.prepare(plan);
    trial_.read_no_values();
    OrReason<std::vector<double>> turns = turns_ns("words", trial_, plan, 31);
    if (!turns) return Ns::missing(turns.reason);
    std::ranges::nth_element(*turns.value, turns.value->begin() + turns.value->size() / 2);
    return (*turns)[turns->size() / 2];
  }

  /// Returns why a few turns of the workload cannot be timed; empty if they can.
  std::string why_no_turns() const {
    if (m_.measured->offer) return "an open loop runs each operation when it is due";
    if (plan_.seats.oversubscribed)
      return "threads share processors, so waiting for one would be most of so short a time";
    if (config_.batch.order == BatchOrder::kAuto) return "--batch=auto chooses its loop by the times of the index";
    return "";
  }

  /// Runs the first operations of the stream over an index in some turns, each as many as threads hold at once: half a
  /// millisecond, most of it for making requests. Returns a thread's time for an operation in each turn; at least one.
  OrReason<std::vector<double>> turns_ns(const char* phase, Trial& trial, const Plan& plan, u32 turns) {
    using Turns = OrReason<std::vector<double>>;
    const RequestMaker maker(*stream_, true, plan.widths.value);
    Phases loop(trial, plan, maker, window_, team_, progress_);
    std::vector<double> all;
    std::string failure;
    try {
      failure = loop.begin();
      for (u32 turn = 0; turn < turns && failure.empty() && !stop_requested() && loop.left() > 0; ++turn) {
        loop.limit_to(u64{kRoundRequests} / stream_->most_keys() * plan_.seats.processors);
        for (Worker& worker : loop.workers()) {
          if (config_.latency_every != 0) worker.latencies = latencies();
        }
        const Phases::Outcome outcome = loop.phase(phase, 0, 0, [&](u32 t) { loop.run_requests(t); });
        failure = outcome.failure;
        if (outcome.operations == 0) continue;
        const double ns = loop.rounds().seconds() * 1e9 * plan_.seats.processors;
        if (ns > 0) all.push_back(ns / static_cast<double>(outcome.operations));
      }
      if (const std::string why = loop.leave(); failure.empty()) failure = why;
    } catch (const std::system_error& error) {
      failure = error.what();
    }
    loop.end();
    if (!failure.empty()) return Turns::missing(failure);
    if (stop_requested()) return Turns::missing("the run was interrupted");
    return all.empty() ? Turns::missing("the workload has no operation") : Turns(std::move(all));
  }

  /// Runs a phase on the calling thread. `what` returns how many operations it had.
  template <class Do>
  void timed(const char* name, const Do& what) {
    const u64 start = team_.clock().now();
    progress_.begin(name, 0, 0);
    const u64 operations = what();
    m_.phases.push_back(
        {.name = name, .seconds = team_.clock().seconds_since(start), .operations = operations, .failure = {}});
  }

  /// Counts the nodes that the reads among these requests visit, in the index as it stands.
  OrReason<double> nodes_of(const Slice& requests) const {
    if (trial_.counts_visits()) return trial_.nodes_per_fetch(requests);
    return OrReason<double>::missing("the index does not count the nodes that a lookup visits");
  }

  /// Counts the nodes that the next lookups of the workload would visit, in the index as it stands. Past lookups would
  /// not do, since the index may have learned from them.
  OrReason<double> nodes_of_next() const {
    constexpr u32 kFetches = 250'000;
    if (!mix_.has(OpKind::kRead) && !mix_.has(OpKind::kMultiGet))
      return OrReason<double>::missing("the workload looks nothing up");
    if (!trial_.counts_visits()) return nodes_of({});
    const u64 first = phases_.next();
    const u32 count = static_cast<u32>(std::min<u64>(kFetches / stream_->most_keys(), phases_.end_of_first() - first));
    if (count == 0)
      return OrReason<double>::missing("no operation of the workload is left whose nodes could be counted");
    RequestQueue requests;
    return nodes_of(requests.only(maker_, first, count));
  }

  /// Returns the fingerprint of the beginning of the stream. It is a sum, so it does not depend on which thread made an
  /// operation. How far the threads came depends on the machine, so the operations after that are made here. The
  /// numbers of operations in parts depend on how many threads there are; then all are made once more, as for one.
  StreamPrint fingerprint() const {
    if (stream_->parts().size() != 2) return print_of(*stream_for(1));
    u64 made = 0;
    for (const Worker& worker : phases_.workers()) made += worker.print;
    return print_of(*stream_, phases_.next(), made);
  }

  std::unique_ptr<const Stream> stream_for(u32 threads) const {
    return workload_.stream(config_.seed, kMeasuredPhase, keys_, threads, Distribution(config_.distribution),
                            config_.records, Churn::parse(config_.churn));
  }

  LimitsPlan plan_of_limits() const {
    constexpr u64 kMinLimitsNs = 10'000'000;
    LimitsPlan plan;
    plan.footprint =
        limits_footprint(m_.reserved_bytes + (m_.value_bytes ? m_.value_bytes->reserved : 0), available_memory());
    // The page size that the process got, mostly for the index, which may differ from the one that was asked for.
    const bool huge = page_bytes_between(m_.pages_before, m_.measured->pages).value.value_or(0) > 4096;
    plan.huge_pages = huge ? HugePages::kThp : HugePages::kNone;
    plan.pages = placement_of_limits(topology_, plan_.seats, plan_.pages);
    const u64 measured_ns = static_cast<u64>(m_.measured->wall_seconds * 1e9);
    plan.time_ns = std::clamp(measured_ns, kMinLimitsNs, plan.time_ns);  // limits take no longer than a short run
    const std::set<u32> distinct(plan_.seats.cpus.begin(), plan_.seats.cpus.end());
    plan.cpus.assign(distinct.begin(), distinct.end());
    plan.pin = plan_.seats.binds;
    return plan;
  }

  Trial& trial_;
  Trial* const null_;
  const Plan& plan_;
  const Config& config_ = plan_.config;
  const Workload& workload_ = *plan_.workload;
  const Mix& mix_ = workload_.mix();
  const Topology& topology_;
  ThreadTeam& team_;
  Progress& progress_;
  Recorder* const recorder_;
  const KeySet keys_;
  const std::unique_ptr<const Stream> stream_;
  const std::optional<Recording> recording_;  // which calls are recorded, if any are
  const RequestMaker maker_;
  const u64 window_;  // records that the index holds while the workload replaces them (Phases)
  std::optional<HistoryRecorder> history_;
  u64 recorded_from_ = 0;              // the time at which the recording began
  std::optional<std::string> cut_in_;  // the phase in which it was full
  Measurement m_;
  Phases phases_;
};

}  // namespace

Measurement run_trial(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team, Progress& progress,
                      Recorder* recorder, Trial* null) {
  return Run(trial, plan, topology, team, progress, recorder, null).run();
}

Plan plan_of_loop(const Plan& plan) {
  Plan loop = plan;
  loop.config.index = {.name = "null", .arg = {}, .options = {}};
  loop.config.sync = {.name = "none", .arg = {}, .options = {}};
  loop.config.alloc = Alloc::kMalloc;  // the index needs no memory: an arena would only take some
  return loop;
}

}  // namespace latchlab
