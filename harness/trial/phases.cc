#include "harness/trial/phases.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "harness/host/environment.h"
#include "harness/host/interrupt.h"
#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/memory/accessed_bits.h"
#include "workloads/stream.h"
#include "workloads/streams.h"

namespace latchlab {
namespace {

constexpr u64 kWatchNs = 20'000'000;  // between looks at interruption and progress
constexpr u64 kBeginNs = 200'000;     // between looks whether the first operation could begin

/// Returns the mean time so far for making as many requests as a thread claims at once.
u64 claim_ns(const Worker& me) { return me.made == 0 ? 0 : me.making_ns * kSliceRequests / me.made; }

/// Calls a function at the end of a scope, also when an exception leaves it.
template <class Do>
class AtEnd {
 public:
  explicit AtEnd(const Do& what) : do_(what) {}
  ~AtEnd() { do_(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;

 private:
  const Do& do_;
};

/// Returns the message of an exception in one line; empty if there is none.
std::string said_by(const std::exception_ptr& failure) {
  if (!failure) return "";
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return std::string(kMemoryRanOut);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown exception";
  }
}

}  // namespace

std::string Phases::begin() {
  team_.wait_by(config_.wait, seats_.oversubscribed);
  team_.begin(config_.threads);
  const std::string failure = everyone([&](u32 t) {
    if (seats_.binds) workers_[t].pinned = team_.pin(seats_.cpus[t]);
    // The result is ignored: a trial call before the run has found out if the kernel refuses.
    if (!plan_.places_chunks()) (void)team_.place(plan_.pages);
    if (config_.slice_extension == SliceExtensions::kOn) team_.extend_slices();
    workers_[t].runner = trial_.runner(clock_);
    if (config_.station.mode != StationMode::kOff)
      workers_[t].stationed = stationed_run(config_.station, config_.batch, trial_.numbers(), plan_.widths.value);
  });
  return failure.empty() && history_ != nullptr ? begin_recording() : failure;
}

/// Makes room for recorded calls, if the clock orders them. Returns the message of a thread's exception.
std::string Phases::begin_recording() {
  ClockRelay relay(team_, config_.threads);
  std::string failure = everyone([&](u32 t) { relay.run(t); });
  not_recorded_ = relay.why_unordered();
  if (!failure.empty() || !not_recorded_.empty()) return failure;
  std::string no_room = everyone([&](u32 t) {
    workers_[t].recorded =
        std::make_unique<RecordedRun>(*history_, *maker_.recorded(), t, clock_, trial_.numbers(), plan_.widths.value);
  });
  return no_room.empty() && config_.preempt ? begin_preempting() : no_room;
}

/// Makes all threads interruptible, or none. Returns the message of a thread's exception.
std::string Phases::begin_preempting() {
  std::vector<std::string> why(workers_.size());
  std::string failure = everyone([&](u32 t) {
    OrReason<std::unique_ptr<Preemption>> made = team_.preemption(draw(config_.seed, kPreemptionStream, t));
    why[t] = made.reason;
    if (made) workers_[t].recorded->preempt_by(std::move(*made.value));
  });
  const auto none = std::ranges::find_if_not(why, &std::string::empty);
  if (!failure.empty() || none == why.end()) return failure;
  not_preempted_ = *none;
  return everyone([&](u32 t) { workers_[t].recorded->end_preempting(); });
}

OrReason<PreemptionCounts> Phases::preemptions() const {
  if (!not_preempted_.empty()) return OrReason<PreemptionCounts>::missing(not_preempted_);
  PreemptionCounts sum;
  for (const Worker& worker : workers_) {
    if (worker.recorded) sum += worker.recorded->preemptions();
  }
  return sum;
}

std::string Phases::leave() {
  return everyone([&](u32 t) {
    if (workers_[t].recorded) workers_[t].recorded->end_preempting();
    workers_[t].runner.reset();
  });
}

std::string Phases::count(const std::vector<PmuEvent>& events) {
  return everyone([&](u32 t) {
    workers_[t].pmu.reset();  // closes its files before others are opened
    workers_[t].pmu = std::make_unique<PmuGroups>(events, kernel_perf());
  });
}

/// Runs a task on every thread, outside all phases. Returns the message of a thread's exception.
std::string Phases::everyone(const std::function<void(u32)>& task) { return said_by(team_.run_all(task)); }

/// Ends the current phase.
void Phases::stop() {
  stop_.store(true, kSeqCst);  // (1) pairs with (4) in Rounds::open
  rounds_.halt();
}

Phases::Outcome Phases::chunks(const std::string& name, u64 total,
                               const std::function<Slice(Worker&, u64, u32)>& make) {
  turns_.start();
  return phase(name, total, 0, [&](u32 t) {
    Worker& me = workers_[t];
    for (u64 chunk = t; chunk * kChunkRequests < total && !stop_.load(kRelaxed); chunk += config_.threads) {
      const u64 first = chunk * kChunkRequests;
      Slice requests = make(me, first, static_cast<u32>(std::min<u64>(kChunkRequests, total - first)));
      requests.prepares = true;
      if (in_turns_ && !turns_.await(chunk, stop_)) return;
      meter_.add(t, run_until_full(me, requests, stop_, kStopRequests, nullptr));
      if (in_turns_) turns_.end();
    }
  });
}

void Phases::limit_to(u64 total) {
  for (Worker& worker : workers_) {
    worker.first = dealer_.next(static_cast<u32>(&worker - workers_.data())) - worker.requests.left();
    worker.requests.limit_to(total);
    total -= worker.requests.left();
  }
  dealer_.end_after(total);
  // If threads have operations of their own, they get shares of the rate in proportion, so that all end together.
  u64 all = 0;
  recorded_begin_ns_ = ~u64{0};
  for (u32 t = 0; t < workers_.size(); ++t) {
    Worker& worker = workers_[t];
    worker.own = worker.requests.left() + dealer_.left_for(t);
    worker.share = {.part = dealer_.in_parts() ? worker.own : 1, .whole = 1};
    all += worker.share.part;
    const auto times = worker.own > 0 ? maker_.stream().times_from(worker.first) : nullptr;
    if (times) recorded_begin_ns_ = std::min(recorded_begin_ns_, times->next());
  }
  for (Worker& worker : workers_) worker.share.whole = all;
}

/// Returns the arrivals of thread t, among those that limit_to has left.
std::unique_ptr<Arrivals> Phases::arrivals(u32 t, const Rate& rate) const {
  const Worker& me = workers_[t];
  if (rate.law != Rate::Law::kTrace) return arrivals_of(rate, config_.seed, t, me.share);
  return recorded_arrivals(maker_.stream().times_from(me.first), me.own, recorded_begin_ns_, rate.factor);
}

u64 Phases::left() const {
  u64 left = dealer_.left();
  for (const Worker& worker : workers_) left += worker.requests.left();
  return left;
}

void Phases::run_requests(u32 t) {
  do {
    run_section(t);
  } while (dealer_.in_sections() && meet(workers_[t]));
}

/// Waits for all threads at the end of a section. Returns false if no section follows. The time of the meeting is kept
/// apart: a thread that sleeps here waits neither for a lock nor for a processor.
bool Phases::meet(Worker& me) {
  // Processor times are not needed if threads share processors, and reading them takes time from threads that still
  // run.
  const auto look = [&] { return seats_.oversubscribed ? std::nullopt : team_.processor_time(); };
  const auto before = look();
  const bool goes_on = section_over_.meet(stop_, [&] { return next_section(); });
  const auto after = look();
  if (before && after) me.meetings = me.meetings + (*after - *before);
  return goes_on;
}

/// Goes on to the next section. One thread calls it, when all threads have done all of the current one.
bool Phases::next_section() {
  const std::size_t section = dealer_.section();
  if (!dealer_.next_section()) return false;
  if (between_sections_) between_sections_(section);
  rounds_.resume(config_.threads);
  return true;
}

void Phases::run_section(u32 t) {
  Worker& me = workers_[t];
  ContentionCounts met = me.runner->contention();
  Rounds::Participant part(rounds_);
  // If threads share processors, making requests takes processors from other threads, so its time counts.
  if (seats_.oversubscribed) part.begin();
  // A request may then take long, above all if threads pass a lock around. So the first one is counted at once, since
  // the phase cannot end before. How often a thread looks at the stop flag depends on the time that its requests take.
  u32 most = seats_.oversubscribed ? config_.batch.keys : kSliceRequests;
  u32 stop_requests = seats_.oversubscribed ? 1 : std::max(1u, kStopRequests / maker_.stream().most_keys());
  while (!stop_.load(kRelaxed)) {
    make_ready(me, dealer_.round());
    if (me.requests.left() == 0) return;
    part.begin();
    if (me.pmu) me.pmu->begin();
    bool over = false, halted = false;
    {
      const auto leave = [&] {
        part.stop();
        if (me.pmu) me.pmu->end();
        over = part.end();
      };
      const AtEnd at_end(leave);
      while (!halted && me.requests.left() > 0) {
        Slice slice = me.requests.rest();
        slice.count = std::min(std::exchange(most, kSliceRequests), me.requests.left());
        slice.further = me.requests.left() - slice.count;
        const u64 begun = seats_.oversubscribed ? clock_.now() : 0;
        const u32 ran = run_until_full(me, slice, rounds_.halted(), stop_requests, me.latencies.get());
        if (seats_.oversubscribed && ran > 0) stop_requests = requests_between_looks(clock_.now() - begun, ran);
        const ContentionCounts now = me.runner->contention();
        meter_.add(t, ran, now - std::exchange(met, now));
        me.requests.take(ran);
        halted = ran < slice.count;
      }
    }
    if (over && between_rounds_) between_rounds_(me);
  }
}

void Phases::run_arrivals(u32 t, const Rate& rate, u64 length_ns) {
  constexpr u64 kTellNs = 1'000'000;  // the longest time between two additions to the meter, made also after each slice
  Worker& me = workers_[t];
  Rounds::Participant part(rounds_);
  // A thread makes few requests at a time, since making them may delay those that are due. Two slices suffice to make
  // one while the other is run.
  const u32 most = std::min(dealer_.round(), 2 * kSliceRequests);
  bool more = true;
  const auto make_more = [&] { return more = more && make_ready(me, most); };
  const auto make_meanwhile = [&](u64 left_ns) {
    return me.requests.left() + kSliceRequests <= most && claim_ns(me) < left_ns && make_more();
  };
  if (me.requests.left() == 0) make_more();
  ContentionCounts met = me.runner->contention();
  u64 untold = 0, told_at = 0;
  part.begin();
  const u64 epoch = *rounds_.begun();
  // Events are counted to the end of the phase, waiting included: switching them costs more than an operation.
  if (me.pmu) me.pmu->begin();
  me.loop = std::make_unique<OpenLoop>(arrivals(t, rate), epoch, length_ns, seats_.oversubscribed, team_);
  OpenLoop& loop = *me.loop;
  const auto tell = [&] {
    const ContentionCounts now = me.runner->contention();
    meter_.add(t, std::exchange(untold, 0), now - std::exchange(met, now));
    told_at = loop.now();
  };
  const auto leave = [&] {
    tell();
    if (me.pmu) me.pmu->end();
    if (me.requests.left() == 0) me.until = std::max(loop.now(), epoch) - epoch;
  };
  const AtEnd at_end(leave);
  while (me.requests.left() > 0 && loop.await(stop_, make_meanwhile)) {
    Slice request = me.requests.rest();
    request.count = 1;
    if (me.latencies) me.latencies->arrived(loop.due(), loop.now());
    const u32 ran = run_until_full(me, request, stop_, 1, me.latencies.get());
    std::optional<u64> end = me.latencies ? me.latencies->ended() : std::nullopt;
    untold += ran;
    me.requests.take(ran);
    if (untold >= kSliceRequests || loop.now() - told_at >= kTellNs)
      tell(), end.reset();  // the next call must not include the time of tell()
    if (me.requests.left() == 0) make_more(), end.reset();
    loop.done(end);
  }
}

/// Runs requests and returns how many were run: all of them, unless the phase ends.
u32 Phases::run_until_full(Worker& me, const Slice& slice, const std::atomic<bool>& stopped, u32 stop_requests,
                           Latencies* latencies) {
  const u64 before = me.tally.operations();
  try {
    if (me.recorded) return me.recorded->run(*me.runner, slice, stopped, me.tally, stop_requests, latencies);
    if (me.stationed) return me.stationed->run(*me.runner, slice, stopped, me.tally, stop_requests, latencies);
    return me.runner->run(slice, stopped, me.tally, stop_requests, latencies);
  } catch (const IndexFull&) {
    full_.store(true, kRelaxed);  // relaxed: it is read when the threads are done
    stop();
    return static_cast<u32>(me.tally.operations() - before);
  } catch (...) {
    meter_.add(static_cast<u32>(&me - workers_.data()), me.tally.operations() - before);  // the caller no longer can
    throw;
  }
}

/// Fills this thread's queue up to `most` requests from the operations that it claims. Returns false if it claimed
/// none.
bool Phases::make_ready(Worker& me, u32 most) {
  const std::optional<u64> start = team_.ran_ns();
  const u32 left = me.requests.left();
  const Dealer::Claim dealt = dealer_.deal(static_cast<u32>(&me - workers_.data()), most - left);
  if (dealt.count == 0 && left == 0) return false;  // without refill(), which would forget RequestQueue::ran()
  me.requests.refill(maker_, dealt.first, dealt.count);
  me.made += dealt.count;
  const std::optional<u64> now = team_.ran_ns();
  me.clocked &= start && now;
  me.making_ns += me.clocked ? *now - *start : 0;
  if (dealt.first < StreamPrint::kMost) {  // after the last reading of the clock, since this is not making requests
    me.print +=
        me.requests.print(maker_.stream(), dealt.first, std::min<u64>(dealt.count, StreamPrint::kMost - dealt.first));
  }
  return dealt.count > 0;
}

Phases::Outcome Phases::phase(const std::string& name, u64 total, u64 length_ns, const std::function<void(u32)>& task,
                              u64 sample_ns, bool open) {
  progress_.begin(name, total, length_ns);
  stop_.store(false, kRelaxed);  // relaxed: team_.run() below synchronizes with the threads
  rounds_.start(config_.threads, open                    ? Rounds::Cut::kOpenLoop
                                 : seats_.oversubscribed ? Rounds::Cut::kWindow
                                                         : Rounds::Cut::kRounds);
  meter_.start(config_.threads);
  dealer_.in_sections(!open);
  section_over_.start(config_.threads);
  constexpr u64 kNever = ~u64{0};
  const u64 start = clock_.now();
  u64 next_sample = sample_ns > 0 ? start + sample_ns : kNever;
  const bool clears = sample_ns > 0 && config_.clear_accessed_ns > 0;
  u64 cleared = clears && clear_accessed() ? 1 : 0;  // at least once, even in a short phase
  u64 next_clear = clears ? clock_.now() + config_.clear_accessed_ns : kNever;
  const std::exception_ptr failure = team_.run(
      [&](u32 t) {
        task(t);
        meter_.finish(t);
      },
      [&] {
        const u64 now = clock_.now();
        u64 end = kNever;
        if (length_ns > 0) {
          const std::optional<u64> begun = rounds_.begun();
          if (!begun) return now + kBeginNs;
          end = *begun + length_ns;
        }
        // The phase goes on until one operation is done, since threads may have been descheduled all the time.
        if ((now >= end && meter_.operations() > 0) || stop_requested()) stop();
        if (now >= next_sample) {
          meter_.sample(rounds_.seconds());
          // A late sample lengthens its interval; it does not shorten the next one.
          next_sample = std::max(next_sample + sample_ns, now + sample_ns / 2);
        }
        if (now >= next_clear) {
          if (clear_accessed()) ++cleared;
          next_clear = clock_.now() + config_.clear_accessed_ns;  // from its end, since clearing takes long
        }
        progress_.advance(meter_.operations());
        return std::min({next_clear, end > now ? end : now + kBeginNs, next_sample, now + kWatchNs});
      },
      [&] { stop(); });
  const double seconds = clock_.seconds_since(start);
  return {.name = name,
          .seconds = seconds,
          .operations = meter_.operations(),
          .failure = said_by(failure),
          .accessed_cleared = cleared};
}

}  // namespace latchlab
