#include "harness/trial/run_trial.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "harness/host/placement.h"
#include "harness/host/progress.h"
#include "harness/host/thread_team.h"
#include "harness/loop/latency.h"
#include "harness/loop/trial.h"
#include "harness/trial/account.h"
#include "harness/trial/aftermath.h"
#include "harness/trial/offer.h"
#include "harness/trial/phases.h"
#include "harness/trial/pmu_account.h"
#include "harness/trial/rows.h"
#include "harness/trial/run_parts.h"
#include "harness/trial/slo_search.h"
#include "harness/trial/step_maker.h"
#include "harness/trial/validate.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/mix_stream.h"
#include "workloads/stream.h"
#include "workloads/workload.h"

namespace latchlab {
namespace {

constexpr u64 kSamples = 1'000'000;  // reads of the verify phase; all records if there are fewer

/// One run, phase after phase.
class Run {
 public:
  Run(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team, Progress& progress)
      : trial_(trial),
        plan_(plan),
        topology_(topology),
        team_(team),
        progress_(progress),
        keys_(config_.keys, config_.seed),
        stream_(workload_.stream(config_.seed, kMeasuredPhase, keys_, config_.threads, Distribution(config_.distribution),
                                 config_.records, Churn::parse(config_.churn))),
        maker_(*stream_, mix_.has(OpKind::kErase) || !trial.keeps(), plan.widths.value),
        phases_(trial, plan, maker_,
                mix_.has(OpKind::kErase) && !workload_.trace() ? workload_.least_records(config_.records, keys_.capacity()) : 0,
                team, progress) {}

  TrialResult run() {
    describe(parts_, out_);
    pages_before_ = page_use();
    try {
      if (enter() && fill_payloads() && (mix_.fills() || (load() && verify()))) {
        retouch();
        if (!mix_.fills() && config_.warmup_ns > 0) warm_up();
        if (workload_.trace() && phases_.left() == 0) {
          out_.worsen(Status::kFailed,
                      fmt::format("the warm-up did all {} operations of the trace; --warmup=0 leaves it out", stream_->size()));
        }
        if (phases_.full()) {
          out_.worsen(Status::kFailed, parts_.full("in the warm-up, which inserts too; --warmup=0 leaves it out"));
        }
        if (used_up()) {
          out_.worsen(Status::kFailed,
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
      out_.worsen(Status::kFailed, fmt::format("the threads cannot be started: {}", e.what()));
    }
    phases_.end();
    out_.interrupted = stop_requested();
    if (!out_.throughput) {
      if (out_.interrupted) out_.worsen(Status::kFailed, "the run was interrupted before the measured phase");
      nothing_measured(out_, out_.status == Status::kOk ? "the measured phase did not run" : out_.reason);
    }
    look_over(parts_, progress_, out_);
    progress_.end();
    return std::move(out_);
  }

 private:
  bool go_on() const { return !stop_requested() && out_.status < Status::kSkipped; }

  bool enter() {
    const std::string failure = phases_.begin();
    if (!failure.empty()) out_.worsen(Status::kFailed, fmt::format("a thread cannot join the index: {}", failure));
    if (!plan_.seats.binds) {
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
      out_.worsen(Status::kFailed, fmt::format("a thread cannot leave the index: {}", failure));
    }
  }

  /// As the pages of the index, they are touched by the threads that will use them.
  bool fill_payloads() {
    Payloads* const payloads = trial_.payloads();
    if (payloads == nullptr) return true;
    if (config_.batch.keys == 1) {   // batches see to their payloads in the loop that they have without
      out_.health.notes.push_back("with payloads operations run in a loop of their own: a ratio to --value-size=8 has that in it");
    }
    note(phases_.phase("payloads", 0, 0, [&](u32 t) { payloads->fill(t, config_.threads, plan_.pages); }));
    return go_on();
  }

  bool load() {
    if (config_.records == 0) return true;   // a file may say so
    const MixStream loading = MixStream::loading(config_.seed, keys_, config_.records);
    const StepMaker maker(loading, false, plan_.widths.value);
    note(phases_.chunks("load", config_.records, [&](Worker& me, u64 first, u32 count) {
      return me.steps.only(maker, first, count);
    }));
    if (phases_.full()) {
      out_.worsen(Status::kFailed, parts_.full(fmt::format("before all {} records were loaded", config_.records)));
    }
    return go_on() && no_mistakes("loading");
  }

  bool verify() {
    const u64 samples = std::min(kSamples, config_.records);
    note(phases_.chunks("verify", samples, [&](Worker& me, u64 first, u32 count) {
      return make_checks(keys_, config_.records, samples, first, count, me.steps.only(), plan_.widths.value);
    }));
    return go_on() && no_mistakes("verifying what was loaded");
  }

  /// A page whose Accessed bit is clear (the kernel looked at it meanwhile) aborts every transaction that
  /// reads it; one plain read repairs it. So before an elided run everything is walked over once.
  void retouch() {
    if (!trial_.elides() || mix_.fills() || !go_on()) return;
    const u64 start = team_.clock().now();
    progress_.begin("touch", 0, 0);
    const Contents contents = trial_.contents();
    out_.add_phase("touch", team_.clock().seconds_since(start), contents.keys);
  }

  void warm_up() {
    if (!go_on()) return;
    note(phases_.phase("warmup", 0, config_.warmup_ns, [&](u32 t) { phases_.run_steps(t); }));
  }

  /// Whether inserts can only fail from now on.
  bool used_up() const {
    if (workload_.by_file() || !workload_.phases().empty()) return false;   // its inserts are of keys that it has for them
    const bool only_grows = mix_.has(OpKind::kInsert) && !mix_.fills() && !mix_.has(OpKind::kErase);
    return only_grows && trial_.keeps() && parts_.tally_of_all().keys == keys_.capacity();
  }

  void measure() {
    const u64 total = std::min(config_.ops > 0 ? config_.ops : ~u64{0}, phases_.left());
    const u64 every = config_.rows.value_or(0);
    RowCutter rows(every, every != 0 ? std::vector<std::string>() : names_of_phases(), phases_, events_,
                   [&](const Slice& ran) { return parts_.nodes_of(ran); });
    const std::string no_rows = why_no_rows();
    if (no_rows.empty()) {
      phases_.between_rounds([&](const Worker& worker) { rows.look(worker); });
      phases_.between_sections([&](std::size_t section) { rows.end_section(section); });
    }
    const std::optional<MeasuredPhase> phase = config_.slo ? search(total) : run_measured("measure", total, config_.rate);
    if (!phase) return;
    out_.rows = no_rows.empty() ? OrReason(rows.finish()) : OrReason<std::vector<ResultRow>>::missing(no_rows);   // while its events are open
    account_for(parts_, *phase, pages_before_, out_);
  }

  /// Those of the workload.
  std::vector<std::string> names_of_phases() const {
    std::vector<std::string> names;
    for (const WorkloadPhase& phase : workload_.phases()) names.push_back(phase.name);
    return names;
  }

  /// Why the measured phase is not cut into rows; empty where it is.
  std::string why_no_rows() const {
    const bool of_phases = config_.rows.value_or(0) == 0;
    if (of_phases && workload_.phases().empty()) return "rows are asked for with --rows";
    if (config_.rate || config_.slo) return "an open loop has no rounds to cut between";
    return plan_.seats.oversubscribed && !of_phases ? "threads that share processors have no rounds to cut between" : "";
  }

  /// A phase that may be the one that is reported, in an open loop where there is a rate; nothing where it cannot begin.
  std::optional<MeasuredPhase> run_measured(const std::string& name, u64 total, const std::optional<Rate>& rate) {
    if (!go_on()) return std::nullopt;   // what the one before has left behind stays
    MeasuredPhase measured{.total = total, .left = phases_.left(), .offer = {}, .packages = {}, .reclaim = {}, .before = {}};
    phases_.limit_to(total);
    const u32 every = config_.latency_every;
    for (Worker& worker : phases_.workers()) {
      if (every != 0) worker.latencies = std::make_unique<Latencies>(every, config_.batch.keys, team_.clock());
      worker.counters_before = worker.runner->counters();
      worker.measured = worker.tally;
      worker.loop.reset();
      worker.until.reset();
    }
    if (trial_.keeps()) out_.memory.keys_at_start = parts_.tally_of_all().keys;
    measured.packages = count_events();
    if (out_.status >= Status::kSkipped) return std::nullopt;
    measured.reclaim = trial_.reclaim();
    measured.before = disturbance_now();
    for (const auto& package : measured.packages) package->begin();
    const bool endless = total == ~u64{0} || total >= Stream::kEndless;
    const auto task = [&](u32 t) {
      Worker& me = phases_.workers()[t];
      me.meetings = {};
      const auto begin = team_.processor_time();
      rate ? phases_.run_arrivals(t, *rate, config_.time_ns) : phases_.run_steps(t);
      const auto end = team_.processor_time();
      me.processor_time = begin && end ? std::optional(*end - *begin - me.meetings) : std::nullopt;
      me.seen_on = team_.cpu();
    };
    const Phases::Outcome phase =
        phases_.phase(name, endless ? 0 : total, config_.time_ns, task, config_.sample_ns, rate.has_value());
    note(phase);
    measured.accessed_cleared = phase.accessed_cleared;
    for (const auto& package : measured.packages) package->end();
    if (rate) measured.offer = offer_of(phases_.workers(), *rate, phases_.rounds().seconds(), config_.time_ns);
    return measured;
  }

  double done_per_second() const {
    const double seconds = phases_.rounds().seconds();
    return seconds > 0 ? static_cast<double>(phases_.meter().operations()) / seconds : 0;
  }

  /// Tries rates until one is the answer; returns the last try.
  std::optional<MeasuredPhase> search(u64 total) {
    std::optional<MeasuredPhase> last = run_measured("closed", total, std::nullopt);
    if (!last) return last;
    const auto goes_on = [&] { return go_on() && !phases_.full(); };
    const auto try_at = [&](u64 per_second) -> std::optional<Tried> {
      if (!goes_on()) return std::nullopt;
      std::optional<MeasuredPhase> next = run_measured("try", total, Rate{.law = Rate::Law::kPoisson, .per_second = per_second});
      if (!next) return std::nullopt;
      last = std::move(next);
      const double seconds = static_cast<double>(end_of_offer(phases_.rounds().seconds(), config_.time_ns)) / 1e9;
      Tried one{.seconds = seconds, .offered = last->offer->arrivals, .served = phases_.meter().operations(),
                .responses = {}, .late = last->offer->late, .whole = goes_on()};
      for (const Worker& worker : phases_.workers()) one.responses += worker.latencies->responses();
      return one;
    };
    SloSearch told = search_for_slo(*config_.slo, done_per_second(),
                                    least_rate(*config_.slo, config_.latency_every, config_.time_ns), try_at);
    if (const std::string why = why_no_rate(*config_.slo, told, phases_.full()); !why.empty()) out_.worsen(Status::kDegraded, why);
    out_.slo = !told.tries.empty() ? OrReason(std::move(told)) : OrReason<SloSearch>::missing("no rate was tried");
    return last;
  }

  /// On all threads; and on the packages that they run in, for what is counted of those.
  PackageCounters count_events() {
    if (events_.empty()) return {};
    if (const std::string failure = phases_.count(events_); !failure.empty()) out_.worsen(Status::kFailed, failure);
    return count_packages(events_, topology_, plan_.seats);
  }

  void note(const Phases::Outcome& phase) {
    if (!phase.failure.empty()) out_.worsen(Status::kFailed, fmt::format("{} in phase {}", phase.failure, phase.name));
    out_.add_phase(phase.name, phase.seconds, phase.operations);
  }

  bool no_mistakes(std::string_view when) {
    const std::string mistakes = trial_.keeps() ? describe_errors(parts_.tally_of_all()) : std::string();
    if (mistakes.empty()) return true;
    out_.worsen(Status::kInvalid, fmt::format("while {}: {}", when, mistakes));
    return false;
  }

  Trial& trial_;
  const Plan& plan_;
  const Config& config_ = plan_.config;
  const Workload& workload_ = *plan_.workload;
  const Mix& mix_ = workload_.mix();
  const Topology& topology_;
  ThreadTeam& team_;
  Progress& progress_;
  const KeySet keys_;
  const std::unique_ptr<const Stream> stream_;
  const StepMaker maker_;
  const std::vector<PmuEvent> events_ = pmu_events(config_.pmu);
  Phases phases_;
  const RunParts parts_{trial_, plan_, config_, topology_, keys_, workload_, maker_, events_, phases_};
  PageUse pages_before_;
  TrialResult out_;
};

}  // namespace

TrialResult run_trial(Trial& trial, const Plan& plan, const Topology& topology, ThreadTeam& team, Progress& progress) {
  return Run(trial, plan, topology, team, progress).run();
}

}  // namespace latchlab
