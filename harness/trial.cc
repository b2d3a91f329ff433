#include "harness/trial.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <set>

#include <fmt/format.h>

#include "harness/crew.h"
#include "harness/environment.h"
#include "harness/interrupt.h"
#include "harness/limits.h"
#include "harness/meter.h"
#include "harness/placement.h"
#include "harness/progress.h"
#include "harness/step_maker.h"
#include "harness/trial_of.h"
#include "harness/validate.h"
#include "src/arch/features.h"
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

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

u64 nanoseconds(Clock::duration duration) {
  return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
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
  Slice rest;     // of the chunk that the phase before has left unfinished
  u64 chunk = 0;  // the next chunk to make
  std::vector<u64> counters_before;
  std::vector<u64> counters_after;
  u64 making_ns = 0;
  u64 made = 0;
  bool pinned = true;
  Observed observed;
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
        keys_(config.keys, config.seed),
        mix_(config.workload, config.negative),
        distribution_(config.distribution),
        stream_(config.seed, kMeasuredPhase, keys_, distribution_, mix_, config.records),
        workers_(config.threads) {}

  TrialResult run() {
    out_.validation.mode = config_.validate;
    out_.placement.requested = config_.pin.text;
    out_.placement.processors = seats_.processors;
    out_.placement.oversubscribed = seats_.oversubscribed;
    out_.health.load_before = load_average();
    out_.health.notes = disturbances();
    if (!makes_sense()) return std::move(out_);
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
    if (out_.interrupted && !out_.throughput) {
      out_.throughput = Measured<Throughput>::missing("the run was interrupted before the measured phase");
      worsen(Status::kFailed, out_.throughput.reason);
    }
    describe_placement();
    check();
    find_limits();
    progress_.end();
    return std::move(out_);
  }

 private:
  /// Points of a list that cannot be run are skipped, with the reason.
  bool makes_sense() {
    const bool writes = mix_.fills() || mix_.has(OpKind::kInsert) || mix_.has(OpKind::kUpdate) ||
                        mix_.has(OpKind::kUpsert) || mix_.has(OpKind::kErase);
    if (writes && config_.threads > 1 && !trial_.many_writers()) {
      worsen(Status::kSkipped,
             fmt::format("under {} one thread may write, and this workload would write with {}",
                         config_.sync.name, config_.threads));
    } else if (mix_.has(OpKind::kScan) && !trial_.ordered()) {
      worsen(Status::kSkipped, fmt::format("{} is not ordered, so it cannot scan", config_.index.name));
    }
    if (out_.status != Status::kSkipped) return true;
    out_.throughput = Measured<Throughput>::missing(out_.reason);
    return false;
  }

  /// The worst status wins, and of equals the first.
  void worsen(Status status, std::string reason) {
    if (status <= out_.status) return;
    out_.status = status;
    out_.reason = std::move(reason);
  }

  bool go_on() const { return !stop_requested() && out_.status < Status::kSkipped; }

  // --- phases ---

  bool enter() {
    stop_.store(false, kRelaxed);
    const std::exception_ptr failure = crew_->run(
        [&](u32 t) {
          if (seats_.binds) workers_[t].pinned = pin_this_thread(seats_.cpus[t]);
          workers_[t].session = trial_.join();
          workers_[t].chunk = t;
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
    const StepMaker maker(loading, false);
    // One writer only, where the policy allows no more.
    const u32 loaders = trial_.many_writers() ? config_.threads : 1;
    phase("load", config_.records, 0, [&](u32 t) {
      if (t >= loaders) return;
      Worker& me = workers_[t];
      for (u64 first = u64{t} * kChunkSteps; first < config_.records && !stop_.load(kRelaxed);
           first += u64{loaders} * kChunkSteps) {
        const u32 count = static_cast<u32>(std::min<u64>(kChunkSteps, config_.records - first));
        Slice chunk = maker.make(first, count, me.ops, me.steps);
        // A new index is empty: an insert that finds its key there is a mistake even where keys come from a
        // file.
        for (Step& step : me.steps) step.expect = Expect::kMiss;
        meter_.add(t, me.session->run(chunk, stop_, me.tally), 0);
      }
    });
    return go_on() && no_mistakes("loading");
  }

  bool verify() {
    const u64 samples = std::min(kSamples, config_.records);
    phase("verify", samples, 0, [&](u32 t) {
      Worker& me = workers_[t];
      for (u64 first = u64{t} * kChunkSteps; first < samples && !stop_.load(kRelaxed);
           first += u64{config_.threads} * kChunkSteps) {
        const u32 count = static_cast<u32>(std::min<u64>(kChunkSteps, samples - first));
        meter_.add(t,
                   me.session->run(make_checks(keys_, config_.records, samples, first, count, me.steps),
                                   stop_, me.tally),
                   0);
      }
    });
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
    const StepMaker maker(stream_, mix_.has(OpKind::kErase));
    phase("warmup", 0, config_.warmup_ns, [&](u32 t) { run_chunks(t, maker, ~u64{0}); });
    for (Worker& worker : workers_) worker.making_ns = worker.made = 0;
  }

  void measure() {
    const StepMaker maker(stream_, mix_.has(OpKind::kErase));
    u64 total = config_.ops > 0 ? config_.ops : ~u64{0};
    total = std::min(total, stream_.size());
    for (Worker& worker : workers_) {
      worker.counters_before = worker.session->counters();
      worker.measured = worker.tally;
    }
    const Disturbance before = disturbance_now();
    const double wall = phase(
        "measure", total == ~u64{0} || total >= KeySet::kNumbers ? 0 : total, config_.time_ns,
        [&](u32 t) {
          run_chunks(t, maker, quota(t, total));
          workers_[t].observed = observe_this_thread(seats_.cpus[t]);
        },
        config_.sample_ns);
    const Disturbance after = disturbance_now();
    measured_ns_ = static_cast<u64>(wall * 1e9);
    set_health(out_.health, before, after);
    for (Worker& worker : workers_) {
      worker.counters_after = worker.session->counters();
      Tally done = worker.tally;
      worker.measured = (done -= worker.measured);
    }
    report_throughput(wall);
    report_sync();
    report_memory(before, after);
  }

  /// How many of `total` operations are thread t's, when chunks go round.
  u64 quota(u32 t, u64 total) const {
    if (total == ~u64{0}) return total;
    const u64 turn = u64{config_.threads} * kChunkSteps;
    const u64 rest = total % turn;
    const u64 mine = u64{t} * kChunkSteps;
    return total / turn * kChunkSteps + (rest > mine ? std::min<u64>(rest - mine, kChunkSteps) : 0);
  }

  /// Makes and runs chunks until `quota` operations are done or somebody says stop. Only what the session
  /// does is timed; with more threads than processors everything is, since a thread's waits for a processor
  /// may then fall between its slices, and the sum of the rates would be more than was done.
  void run_chunks(u32 t, const StepMaker& maker, u64 quota) {
    Worker& me = workers_[t];
    while (quota > 0 && !stop_.load(kRelaxed)) {
      const auto making = Clock::now();
      if (me.rest.count == 0) {
        const u64 first = me.chunk * kChunkSteps;
        if (first >= maker.stream().size()) break;
        const u32 count = static_cast<u32>(std::min<u64>(kChunkSteps, maker.stream().size() - first));
        me.rest = maker.make(first, count, me.ops, me.steps);
        me.chunk += config_.threads;
        me.made += count;
      }
      auto then = Clock::now();
      me.making_ns += nanoseconds(then - making);
      if (seats_.threads() > seats_.processors) then = making;
      while (me.rest.count > 0 && quota > 0) {
        Slice slice = me.rest;
        slice.count = static_cast<u32>(std::min<u64>({kSliceSteps, me.rest.count, quota}));
        const u32 ran = me.session->run(slice, stop_, me.tally);
        const auto now = Clock::now();
        meter_.add(t, ran, nanoseconds(now - then));
        then = now;
        me.rest.steps += ran;
        me.rest.count -= ran;
        quota -= ran;
        if (ran < slice.count) return;
      }
    }
  }

  /// Runs one phase on all threads while this one keeps the time: ends it after `length_ns` (0: when the
  /// tasks end), samples the throughput every `sample_ns` (0: never), and watches for an interruption.
  /// Returns its wall time in seconds.
  double phase(const std::string& name, u64 total, u64 length_ns, const std::function<void(u32)>& task,
               u64 sample_ns = 0) {
    progress_.begin(name, total, length_ns);
    stop_.store(false, kRelaxed);
    meter_.start(config_.threads);
    const auto start = Clock::now();
    const auto end = length_ns > 0 ? start + std::chrono::nanoseconds(length_ns) : Clock::time_point::max();
    const auto period = std::chrono::nanoseconds(sample_ns);
    auto next_sample = sample_ns > 0 ? start + period : Clock::time_point::max();
    const std::exception_ptr failure = crew_->run(
        [&](u32 t) {
          task(t);
          meter_.finish(t);
        },
        [&] {
          const auto now = Clock::now();
          if (now >= end || stop_requested()) stop_.store(true, kRelaxed);
          if (now >= next_sample) {
            meter_.sample(config_.threads);
            // A late sample makes its interval longer, not the next one shorter.
            next_sample = std::max(next_sample + period, now + period / 2);
          }
          progress_.advance(meter_.operations());
          return std::min({end > now ? end : now + kWatchPeriod, next_sample, now + kWatchPeriod});
        },
        [&] { stop_.store(true, kRelaxed); });
    const double seconds = seconds_since(start);
    if (failure) worsen(Status::kFailed, fmt::format("{} in phase {}", said_by(failure), name));
    add_phase(name, seconds, meter_.operations());
    return seconds;
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

  void report_throughput(double wall) {
    Tally all;
    for (const Worker& worker : workers_) all += worker.measured;
    Throughput throughput = meter_.throughput();
    throughput.interval_ns = config_.sample_ns;
    u64 making = 0;
    u64 made = 0;
    for (const Worker& worker : workers_) {
      making += worker.making_ns;
      made += worker.made;
    }
    throughput.generator_ns = made > 0
                                  ? Measured<double>(static_cast<double>(making) / static_cast<double>(made))
                                  : Measured<double>::missing("no chunk was made in the measured phase");
    throughput.timed_share = wall > 0 ? std::min(1.0, throughput.seconds / wall) : 0;
    for (std::size_t k = 0; k < kOpKinds; ++k) {
      if (all.count[k] == 0) continue;
      const double share = static_cast<double>(all.count[k]) / static_cast<double>(throughput.operations);
      throughput.per_operation.push_back({.name = std::string(kOpNames[k]),
                                          .count = all.count[k],
                                          .succeeded = all.succeeded[k],
                                          .per_second = throughput.per_second * share});
    }
    if (throughput.operations > 0) {
      out_.throughput = std::move(throughput);
    } else {
      out_.throughput = Measured<Throughput>::missing("no operation was done in the measured phase");
      worsen(Status::kFailed, out_.throughput.reason);
    }
  }

  void report_sync() {
    std::vector<u64> sums;
    for (const Worker& worker : workers_) {
      sums.resize(worker.counters_after.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += worker.counters_after[i] - worker.counters_before[i];
      }
    }
    SyncReport report = trial_.sync_report(sums);
    out_.sync = std::move(report.stats);
    if (!report.contradiction.empty()) {
      worsen(Status::kInvalid, "counters contradict each other: " + report.contradiction);
    }
    if (!trial_.elides() || !report.commits || *report.commits > 0 || !out_.throughput) return;
    if (const auto why = why_no_rtm()) {
      worsen(Status::kDegraded, fmt::format("every operation took the lock: {}", *why));
    } else {
      worsen(Status::kInvalid, "no transaction committed, although the probe says that they work here");
    }
  }

  void report_memory(const Disturbance& before, const Disturbance& after) {
    const PageUse pages = page_use();
    out_.memory.minor_faults = after.minor_faults - before.minor_faults;
    out_.memory.major_faults = after.major_faults - before.major_faults;
    out_.memory.rss = pages.known ? Measured<u64>(pages.rss)
                                  : Measured<u64>::missing("/proc/self/smaps_rollup cannot be read");
    out_.memory.huge_share = huge_share_between(pages_before_, pages);
    out_.memory.page_bytes = page_bytes_between(pages_before_, pages);
  }

  void describe_placement() {
    for (u32 t = 0; t < seats_.threads(); ++t) {
      ThreadPlace place;
      place.requested_cpu = seats_.cpus[t];
      const Observed& seen = workers_[t].observed;
      if (seen.cpu >= 0) place.observed_cpu = static_cast<u32>(seen.cpu);
      for (const Processor& p : topology_.processors) {
        if (!place.observed_cpu || p.os != *place.observed_cpu) continue;
        place.socket = p.socket;
        place.core = p.core;
      }
      out_.placement.threads.push_back(std::move(place));
    }
  }

  /// The index against the tally; nobody uses it any more.
  void check() {
    const IndexBytes bytes = trial_.bytes();
    out_.memory.index_live = bytes.live;
    out_.memory.index_reserved = bytes.reserved;
    const Tally all = tally_of_all();
    if (!trial_.keeps()) {
      out_.validation.passed = Measured<bool>::missing("this index keeps nothing");
      return;
    }
    out_.memory.keys = all.keys;
    if (all.keys > 0) {
      out_.memory.bytes_per_key = static_cast<double>(bytes.live) / static_cast<double>(all.keys);
    } else {
      out_.memory.bytes_per_key = Measured<double>::missing("the index is empty");
    }
    if (const std::string mistakes = describe_errors(all); !mistakes.empty()) {
      worsen(Status::kInvalid, "during the run: " + mistakes);
    }
    if (config_.validate == Validate::kOff) {
      out_.validation.passed = Measured<bool>::missing("--validate=off");
      return;
    }
    const auto start = Clock::now();
    progress_.begin("validate", 0, 0);
    out_.validation = validate(all, trial_.contents());
    add_phase("validate", seconds_since(start), all.keys);
    if (!*out_.validation.passed) worsen(Status::kInvalid, out_.validation.detail);
  }

  void find_limits() {
    if (!out_.throughput) {
      out_.limits = no_limits("there is no throughput to compare with");
      return;
    }
    const auto start = Clock::now();
    progress_.begin("limits", 0, 0);
    LimitsPlan plan;
    plan.footprint = limits_footprint(trial_.bytes().reserved, available_memory());
    // The pages that the index has, which need not be those that were asked for.
    const bool huge = out_.memory.page_bytes.value.value_or(0) > 4096;
    plan.huge_pages = huge ? HugePages::kThp : HugePages::kNone;
    plan.time_ns = std::clamp(measured_ns_, kMinLimitsNs, plan.time_ns);  // a short run is not kept waiting
    const std::set<u32> distinct(seats_.cpus.begin(), seats_.cpus.end());
    plan.cpus.assign(distinct.begin(), distinct.end());
    plan.pin = seats_.binds;
    out_.limits = measure_limits(plan);
    // A thread's time for an operation, without the time in which it waited for its turn on a shared
    // processor.
    const double turns = static_cast<double>(seats_.processors) / seats_.threads();
    const Throughput& t = *out_.throughput;
    set_limit_ratios(out_.limits,
                     t.seconds * 1e9 * config_.threads * turns / static_cast<double>(t.operations));
    add_phase("limits", seconds_since(start), 0);
  }

  Trial& trial_;
  const Config& config_;
  const Topology& topology_;
  Progress& progress_;
  const Seats seats_;
  const KeySet keys_;
  const Mix mix_;
  const Distribution distribution_;
  const Stream stream_;
  std::vector<Worker> workers_;
  Meter meter_;
  std::atomic<bool> stop_{false};  // ends the current phase; relaxed, since it publishes nothing
  Crew* crew_ = nullptr;
  PageUse pages_before_;
  u64 measured_ns_ = 0;
  TrialResult out_;
};

}  // namespace

std::string shown(u64 key) { return fmt::format("{}", key); }

std::string shown(std::string_view key) {
  std::string out = "\"";
  for (const char c : key.substr(0, 64)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 32 && byte < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out + (key.size() > 64 ? "\"..." : "\"");
}

MemoryConfig memory_config_of(const Config& config) {
  MemoryConfig out;
  switch (config.alloc) {
    case Alloc::kMalloc: out.alloc = MemoryConfig::Alloc::kMalloc; break;
    case Alloc::kArena: out.alloc = MemoryConfig::Alloc::kArena; break;
    case Alloc::kArenaTouch: out.alloc = MemoryConfig::Alloc::kArenaTouch; break;
  }
  out.thp = config.huge_pages == HugePages::kThp;
  // Chunks are reserved without being promised: beyond this, the kernel would end the process and not the run.
  out.limit = available_memory();
  return out;
}

TrialResult run_trial(Trial& trial, const Config& config, const Topology& topology, Progress& progress) {
  return Run(trial, config, topology, progress).run();
}

}  // namespace latchlab
