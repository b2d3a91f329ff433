#include "harness/trial.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <set>

#include <fmt/format.h>

#include "harness/cli_values.h"
#include "harness/crew.h"
#include "harness/dealer.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/latency.h"
#include "harness/limits.h"
#include "harness/malloc_library.h"
#include "harness/meter.h"
#include "harness/placement.h"
#include "harness/progress.h"
#include "harness/rounds.h"
#include "harness/step_maker.h"
#include "harness/sync_account.h"
#include "harness/trial_of.h"
#include "harness/turns.h"
#include "harness/validate.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"

namespace latchlab {
namespace {

using Clock = Crew::Clock;

constexpr u64 kSamples = 1'000'000;  // reads of the verify phase; all records if there are fewer
constexpr u64 kMeasuredPhase = 1;    // the stream's phase of warm-up and measurement; loading is phase 0
constexpr u64 kMinLimitsNs = 10'000'000;
constexpr auto kWatchPeriod = std::chrono::milliseconds(20);  // of looks at interruption and progress
constexpr auto kBeginPeriod = std::chrono::microseconds(200);  // of looks whether the time has begun to run

u64 ns_since(Clock::time_point start) {
  return static_cast<u64>(std::chrono::nanoseconds(Clock::now() - start).count());
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string said_by(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "memory ran out";
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

/// What belongs to one thread of the crew and is touched by no other while a phase runs.
struct alignas(kFalseSharingBytes) Worker {
  std::unique_ptr<Session> session;
  Tally tally;     // since the index was empty
  Tally measured;  // of the measured phase
  std::vector<Op> ops;
  std::vector<Step> steps;
  Slice rest;     // of the steps: made and not yet run, also over the end of a phase
  std::vector<u64> counters_before;
  std::vector<u64> counters_after;
  std::unique_ptr<Latencies> latencies;   // of the measured phase, where calls are timed
  u64 making_ns = 0;  // of this thread's time, for all the steps that it has made
  u64 made = 0;
  bool clocked = true;  // the kernel told that time
  bool pinned = true;
  std::optional<u32> seen_on;  // the processor, at the end of the measured phase
};

/// One run, phase after phase.
class Run {
 public:
  Run(Trial& trial, const Config& config, const Topology& topology, Progress& progress)
      : trial_(trial),
        config_(config),
        topology_(topology),
        progress_(progress),
        seats_(seat(topology, config.pin, config.threads)),
        in_turns_(trial.loads_in_turns()),
        keys_(config.keys, config.seed),
        mix_(config.workload, config.negative),
        distribution_(config.distribution),
        stream_(config.seed, kMeasuredPhase, keys_, distribution_, mix_, config.records),
        dealer_(config.threads, mix_.has(OpKind::kErase) ? config.records : 0, stream_.size()),
        workers_(config.threads) {}

  TrialResult run() {
    out_.validation.mode = config_.validate;
    if (config_.latency_every == 0) out_.latency = Measured<Latency>::missing("single calls are timed with --latency");
    out_.placement.requested = config_.pin.text;
    out_.health.load_before = load_average();
    out_.health.notes = disturbances();
    if (auto note = crowd(out_.health.load_before, topology_.processors.size())) out_.health.notes.push_back(*note);
    if (keys_.bytes()) {
      const KeySet::Lines& lines = keys_.lines();
      out_.key_file = KeyFile{.lines = lines.total, .empty = lines.empty, .repeated = lines.repeated};
    } else {
      out_.key_file = Measured<KeyFile>::missing("the keys are from no file");
    }
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
      Crew crew(config_.threads);
      crew_ = &crew;
      if (enter() && (mix_.fills() || (load() && verify()))) {
        retouch();
        if (!mix_.fills() && config_.warmup_ns > 0) warm_up();
        if (go_on()) measure();
      }
      leave();
    } catch (const std::exception& e) {
      worsen(Status::kFailed, fmt::format("the threads cannot be started: {}", e.what()));
    }
    crew_ = nullptr;
    out_.interrupted = stop_requested();
    if (!out_.throughput) {
      if (out_.interrupted) worsen(Status::kFailed, "the run was interrupted before the measured phase");
      nothing_measured(out_, out_.status == Status::kOk ? "the measured phase did not run" : out_.reason);
    }
    describe_placement();
    count_nodes();
    check();
    find_limits();
    progress_.end();
    return std::move(out_);
  }

 private:
  /// The worst status wins, and of equals the first.
  void worsen(Status status, std::string reason) {
    if (status <= out_.status) return;
    out_.status = status;
    out_.reason = std::move(reason);
  }

  /// Ends the current phase.
  void stop() {
    stop_.store(true, kSeqCst);   // pairs with Rounds::open
    rounds_.halt();
  }

  bool go_on() const { return !stop_requested() && out_.status < Status::kSkipped; }

  // --- phases ---

  bool enter() {
    stop_.store(false, kRelaxed);   // relaxed: the crew's mutex brings it to the threads
    const std::exception_ptr failure = crew_->run(
        [&](u32 t) {
          if (seats_.binds) workers_[t].pinned = pin_this_thread(seats_.cpus[t]);
          workers_[t].session = trial_.join();
        },
        [] { return Clock::now() + kWatchPeriod; }, [] {});
    if (failure) worsen(Status::kFailed, fmt::format("a thread cannot join the index: {}", said_by(failure)));
    if (!seats_.binds) {
      out_.health.notes.push_back("threads are not pinned: the topology describes another machine");
    }
    if (std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return !w.pinned; })) {
      out_.health.notes.push_back("the kernel refuses to pin threads");
    }
    return !failure;
  }

  /// Sessions end on the threads that began them, and before the index is looked at: leaving drains what they
  /// retired.
  void leave() {
    const std::exception_ptr failure = crew_->run([&](u32 t) { workers_[t].session.reset(); },
                                                  [] { return Clock::now() + kWatchPeriod; }, [] {});
    if (failure) {
      worsen(Status::kFailed, fmt::format("a thread cannot leave the index: {}", said_by(failure)));
    }
  }

  bool load() {
    const Stream loading = Stream::loading(config_.seed, keys_, config_.records);
    const StepMaker maker(loading, false, config_.widths.value);
    chunks("load", config_.records, [&](Worker& me, u64 first, u32 count) {
      const Slice chunk = maker.make(first, count, me.ops, me.steps);
      // A new index is empty: an insert that finds its key there is a mistake even where keys come from a
      // file.
      for (Step& step : me.steps) step.expect = Expect::kMiss;
      return chunk;
    });
    return go_on() && no_mistakes("loading");
  }

  bool verify() {
    const u64 samples = std::min(kSamples, config_.records);
    chunks("verify", samples, [&](Worker& me, u64 first, u32 count) {
      return make_checks(keys_, config_.records, samples, first, count, me.steps, config_.widths.value);
    });
    return go_on() && no_mistakes("verifying what was loaded");
  }

  /// A phase of `total` steps that has nothing to measure: thread t does chunks t, t + threads, ... of what `make` makes.
  template <class Make>
  void chunks(const std::string& name, u64 total, const Make& make) {
    turns_.start();
    phase(name, total, 0, [&](u32 t) {
      Worker& me = workers_[t];
      for (u64 chunk = t; chunk * kChunkSteps < total && !stop_.load(kRelaxed); chunk += config_.threads) {
        const u64 first = chunk * kChunkSteps;
        const Slice steps = make(me, first, static_cast<u32>(std::min<u64>(kChunkSteps, total - first)));
        if (in_turns_ && !turns_.await(chunk, stop_)) return;
        meter_.add(t, me.session->run(steps, stop_, me.tally, kStopSteps, nullptr));
        if (in_turns_) turns_.end();
      }
    });
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
    const StepMaker maker(stream_, mix_.has(OpKind::kErase), config_.widths.value);
    phase("warmup", 0, config_.warmup_ns, [&](u32 t) { run_steps(t, maker); });
  }

  void measure() {
    const StepMaker maker(stream_, mix_.has(OpKind::kErase), config_.widths.value);
    u64 total = config_.ops > 0 ? config_.ops : ~u64{0};
    total = std::min(total, stream_.size());
    limit_to(total);
    const u32 every = config_.latency_every;
    for (Worker& worker : workers_) {
      if (every != 0) worker.latencies = std::make_unique<Latencies>(every, config_.batch.keys);
      worker.counters_before = worker.session->counters();
      worker.measured = worker.tally;
    }
    if (trial_.keeps()) out_.memory.keys_at_start = tally_of_all().keys;
    const Measured<ReclaimCounters> reclaim_before = trial_.reclaim();
    const Disturbance before = disturbance_now();
    phase(
        "measure", total == ~u64{0} || total >= KeySet::kNumbers ? 0 : total, config_.time_ns,
        [&](u32 t) {
          run_steps(t, maker);
          workers_[t].seen_on = this_cpu();
        },
        config_.sample_ns);
    const Disturbance after = disturbance_now();
    measured_ns_ = static_cast<u64>(rounds_.wall_seconds() * 1e9);
    set_health(out_.health, before, after);
    for (Worker& worker : workers_) {
      worker.counters_after = worker.session->counters();
      Tally done = worker.tally;
      worker.measured = (done -= worker.measured);
    }
    report_throughput(total);
    report_sync();
    report_reclaim(reclaim_before);
    if (every != 0) report_latency(every);
    report_memory(before, after);
  }

  /// Leaves `total` operations to do: first what threads hold since the warm-up.
  void limit_to(u64 total) {
    for (Worker& worker : workers_) {
      worker.rest.count = static_cast<u32>(std::min<u64>(worker.rest.count, total));
      total -= worker.rest.count;
    }
    dealer_.end_after(total);
  }

  /// Makes steps and runs them, round after round, until there are no more or somebody says stop.
  void run_steps(u32 t, const StepMaker& maker) {
    Worker& me = workers_[t];
    Troubles met = me.session->troubles();
    Rounds::Part part(rounds_);
    if (seats_.oversubscribed) part.begin();   // making steps takes processors from others, so it is inside
    // Where threads share processors a step may take long, above all if they pass a lock around: one is counted at once, since
    // the phase does not end before, and how often a thread looks whether it is to stop follows from how long its steps take.
    u32 most = seats_.oversubscribed ? config_.batch.keys : kSliceSteps;
    u32 stop_steps = seats_.oversubscribed ? 1 : kStopSteps;
    while (!stop_.load(kRelaxed)) {
      make_ready(me, maker);
      if (me.rest.count == 0) return;
      part.begin();
      bool halted = false;
      while (!halted && me.rest.count > 0) {
        Slice slice = me.rest;
        slice.count = std::min(std::exchange(most, kSliceSteps), me.rest.count);
        const Clock::time_point begun = seats_.oversubscribed ? Clock::now() : Clock::time_point();
        const u32 ran = me.session->run(slice, rounds_.halted(), me.tally, stop_steps, me.latencies.get());
        if (seats_.oversubscribed && ran > 0) stop_steps = steps_between_looks(ns_since(begun), ran);
        const Troubles now = me.session->troubles();
        meter_.add(t, ran, now - std::exchange(met, now));
        me.rest.steps += ran;
        me.rest.count -= ran;
        halted = ran < slice.count;
      }
      part.end();
    }
  }

  /// Fills up the steps that are ready with what this thread is dealt.
  void make_ready(Worker& me, const StepMaker& maker) {
    const std::optional<u64> start = thread_time_ns();
    me.steps.resize(dealer_.round());
    const u32 left = me.rest.count;
    if (left > 0) std::copy(me.rest.steps, me.rest.steps + left, me.steps.data());
    const Dealer::Hand dealt = dealer_.deal(dealer_.round() - left);
    maker.make(dealt.first, std::span(me.steps).subspan(left, dealt.count), me.ops);
    me.rest = slice_of(std::span(me.steps).first(left + dealt.count));
    me.made += dealt.count;
    const std::optional<u64> now = thread_time_ns();
    me.clocked &= start && now;
    me.making_ns += me.clocked ? *now - *start : 0;
  }

  /// Runs one phase on all threads while this one keeps the time: ends it `length_ns` after the first
  /// operation could begin (0: when the tasks end) but not before one is done, samples the throughput every
  /// `sample_ns` (0: never), and watches for an interruption.
  void phase(const std::string& name, u64 total, u64 length_ns, const std::function<void(u32)>& task,
             u64 sample_ns = 0) {
    progress_.begin(name, total, length_ns);
    stop_.store(false, kRelaxed);   // relaxed: the crew's mutex brings it to the threads
    rounds_.start(config_.threads, !seats_.oversubscribed);
    meter_.start(config_.threads);
    const auto start = Clock::now();
    const auto period = std::chrono::nanoseconds(sample_ns);
    auto next_sample = sample_ns > 0 ? start + period : Clock::time_point::max();
    const std::exception_ptr failure = crew_->run(
        [&](u32 t) {
          task(t);
          meter_.finish(t);
        },
        [&] {
          const auto now = Clock::now();
          auto end = Clock::time_point::max();
          if (length_ns > 0) {
            const auto begun = rounds_.begun();
            if (!begun) return now + kBeginPeriod;
            end = *begun + std::chrono::nanoseconds(length_ns);
          }
          // A thread that the system kept from its processor meanwhile has yet to do something.
          if ((now >= end && meter_.operations() > 0) || stop_requested()) stop();
          if (now >= next_sample) {
            meter_.sample(rounds_.seconds());
            // A late sample makes its interval longer, not the next one shorter.
            next_sample = std::max(next_sample + period, now + period / 2);
          }
          progress_.advance(meter_.operations());
          return std::min({end > now ? end : now + kBeginPeriod, next_sample, now + kWatchPeriod});
        },
        [&] { stop(); });
    if (failure) worsen(Status::kFailed, fmt::format("{} in phase {}", said_by(failure), name));
    add_phase(name, seconds_since(start), meter_.operations());
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
    for (const Worker& worker : workers_) all += worker.tally;
    return all;
  }

  bool no_mistakes(std::string_view when) {
    const std::string mistakes = trial_.keeps() ? describe_errors(tally_of_all()) : std::string();
    if (mistakes.empty()) return true;
    worsen(Status::kInvalid, fmt::format("while {}: {}", when, mistakes));
    return false;
  }

  /// `total`: how many operations there would have been without an end by time.
  void report_throughput(u64 total) {
    const double seconds = rounds_.seconds();
    const double wall = rounds_.wall_seconds();
    Tally all;
    u64 making = 0;
    u64 made = 0;
    bool clocked = true;
    for (const Worker& worker : workers_) {
      all += worker.measured;
      clocked &= worker.clocked;
      making += worker.making_ns;
      made += worker.made;
    }
    Throughput throughput = meter_.throughput(seconds);
    if (throughput.operations == 0 || seconds <= 0) {
      worsen(Status::kFailed, "no operation was done in the measured phase");
      return;
    }
    throughput.interval_ns = config_.sample_ns;
    throughput.ended_by = stop_requested()                                     ? Ending::kSignal
                          : throughput.operations < total                      ? Ending::kTime
                          : config_.ops > 0 && config_.ops <= stream_.size()   ? Ending::kOperations
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

  /// An insert run has two ends, of which the nearer one comes as a surprise.
  void note_early_end(const Throughput& t) {
    if (!mix_.fills() || out_.status >= Status::kFailed) return;
    if (t.ended_by == Ending::kTime) {
      out_.health.notes.push_back(
          fmt::format("--time={} ended the run: {} of {} records were inserted, so the index was smaller",
                      duration_text(config_.time_ns), t.operations, config_.records));
    } else if (t.ended_by == Ending::kRecords && (config_.time_ns > 0 || config_.ops > 0)) {
      out_.health.notes.push_back(fmt::format("all {} records were inserted before the end that {} sets",
                                              config_.records, config_.ops > 0 ? "--ops" : "--time"));
    }
  }

  void report_sync() {
    std::vector<std::vector<u64>> counted;
    for (const Worker& worker : workers_) {
      std::vector<u64>& own = counted.emplace_back(worker.counters_after);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] -= worker.counters_before[i];
    }
    SyncAccount account =
        sync_account(trial_, counted, meter_.troubles(), out_.throughput ? out_.throughput->operations : 0, config_.batch.keys);
    out_.sync = std::move(account.stats);
    worsen(account.status, std::move(account.reason));
    if (!config_.index_degraded.empty()) worsen(Status::kDegraded, config_.index_degraded);
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
    for (const Worker& worker : workers_) all += *worker.latencies;
    if (!out_.throughput) return;
    Latency latency = latency_of(all, out_.sync);
    if (latency.all.count == 0) {
      out_.latency = Measured<Latency>::missing(fmt::format("no call was timed: one in {} is, and there were fewer", every));
    } else {
      out_.latency = std::move(latency);
      out_.health.notes.push_back("timed calls overlap with no others: throughput is more without --latency");
    }
  }

  void report_memory(const Disturbance& before, const Disturbance& after) {
    const PageUse pages = page_use();
    set_faults(out_.memory, before, after);
    out_.memory.rss = pages.known ? Measured<u64>(pages.rss)
                                  : Measured<u64>::missing("/proc/self/smaps_rollup cannot be read");
    out_.memory.huge_share = huge_share_between(pages_before_, pages);
    out_.memory.page_bytes = page_bytes_between(pages_before_, pages);
  }

  void describe_placement() {
    for (u32 t = 0; t < seats_.threads(); ++t) {
      ThreadPlace place;
      place.requested_cpu = seats_.cpus[t];
      const std::string why = out_.throughput ? "the kernel does not say" : out_.throughput.reason;
      place.observed_cpu = place.socket = place.core = Measured<u32>::missing(why);
      if (workers_[t].seen_on) place.observed_cpu = *workers_[t].seen_on;
      for (const Processor& p : topology_.processors) {
        if (!place.observed_cpu || p.os != *place.observed_cpu) continue;
        place.socket = p.socket;
        place.core = p.core;
      }
      out_.placement.threads.push_back(std::move(place));
    }
  }

  /// On the way to the keys of the next lookups, as the index is now: not of those that were done, from which it may have
  /// learned. Outside all times.
  void count_nodes() {
    constexpr u32 kFetches = 250'000;
    if (!out_.throughput) return;
    const auto missing = [this](const char* why) { out_.nodes_per_fetch = Measured<double>::missing(why); };
    if (!trial_.counts_nodes()) return missing("the index does not count the nodes that a lookup visits");
    if (mix_.fills()) return missing("the workload looks nothing up");
    std::vector<Op> ops;
    std::vector<Step> steps;
    const StepMaker maker(stream_, mix_.has(OpKind::kErase), config_.widths.value);
    out_.nodes_per_fetch = trial_.nodes_per_fetch(maker.make(dealer_.next(), kFetches, ops, steps));
  }

  /// The index against the tally; nobody uses it any more.
  void check() {
    if (!trial_.keeps()) return nothing_kept(out_);
    const IndexBytes bytes = trial_.bytes();
    out_.memory.index_live = bytes.live;
    out_.memory.index_reserved = bytes.reserved;
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
    plan.time_ns = std::clamp(measured_ns_, kMinLimitsNs, plan.time_ns);  // a short run is not kept waiting
    const std::set<u32> distinct(seats_.cpus.begin(), seats_.cpus.end());
    plan.cpus.assign(distinct.begin(), distinct.end());
    plan.pin = seats_.binds;
    out_.limits = measure_limits(plan);
    set_limit_ratios(out_.limits, *out_.throughput, seats_.processors);
    add_phase("limits", seconds_since(start), 0);
  }

  Trial& trial_;
  const Config& config_;
  const Topology& topology_;
  Progress& progress_;
  const Seats seats_;
  const bool in_turns_;  // threads load and verify one after the other
  Turns turns_;
  const KeySet keys_;
  const Mix mix_;
  const Distribution distribution_;
  const Stream stream_;
  Dealer dealer_;
  std::vector<Worker> workers_;
  Meter meter_;
  std::atomic<bool> stop_{false};  // ends the current phase; looks are relaxed, since it publishes nothing
  Rounds rounds_{stop_};
  Crew* crew_ = nullptr;
  PageUse pages_before_;
  u64 measured_ns_ = 0;
  TrialResult out_;
};

}  // namespace

TrialResult run_trial(Trial& trial, const Config& config, const Topology& topology, Progress& progress) {
  return Run(trial, config, topology, progress).run();
}

}  // namespace latchlab
