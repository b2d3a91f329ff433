#include "harness/commands/explain.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "harness/commands/virtual_time.h"
#include "harness/config/numbers.h"
#include "harness/host/on_processor.h"
#include "harness/result/document.h"
#include "src/base/error.h"
#include "sync/rtm_counters.h"

namespace latchlab {

namespace {

// Smaller rates and smaller shares of time are not reported.
constexpr double kRare = .001, kLittle = .01;
constexpr double kLongTail = 10;            // in medians
constexpr double kBeyondCaches = 64 << 20;  // bytes

/// One observation about a result.
struct Observation {
  double weight = 0;  ///< share of the threads' time, measured or guessed; it only determines the order
  std::string text;
};

template <class T>
double or_zero(const OrReason<T>& measured) {
  return measured ? static_cast<double>(*measured) : 0;
}
bool holds(const OrReason<bool>& measured) { return measured && *measured; }

template <class Value>
std::optional<Value> value_of(const std::vector<std::pair<std::string, Value>>& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &std::pair<std::string, Value>::first);
  return found == pairs.end() ? std::nullopt : std::optional(found->second);
}

/// A result document: its options as words, all else as structs.
class Result {
 public:
  explicit Result(const Json& document) : document_(document), run_(result_of(document)) {
    const TrialResult& t = run_.trial;
    if (t.throughput) done_ = *t.throughput;
    if (t.sync.counters) counters_ = *t.sync.counters;
    if (t.sync.aborts) aborts_ = *t.sync.aborts;
  }

  std::string option(const char* name) const { return option_at(document_, name); }
  const MachineInfo& machine() const { return run_.machine; }
  const TrialResult& trial() const { return run_.trial; }
  const Throughput& done() const { return done_; }
  double operations() const { return static_cast<double>(done_.operations); }
  double counter(std::string_view name) const { return static_cast<double>(count_of(counters_, name)); }
  const SyncStats::Counts& aborts() const { return aborts_; }

  /// Returns true for an open loop, in which threads also wait for operations.
  bool open() const { return bool{trial().offer}; }
  /// Returns a processor's time for one operation, ns. In an open loop that is the time of a call, and nothing if no
  /// call was timed.
  std::optional<double> operation_ns() const {
    double ns = 0;
    if (open()) {
      if (trial().latency) ns = trial().latency->all.mean_ns;
    } else if (trial().virtual_time) {
      ns = per_operation(trial().virtual_time->thread_ns);  // with the ends of the phase, as its account has them
    } else {
      ns = or_zero(trial().placement.processors) * 1e9 / done_.per_second;
    }
    return ns > 0 && std::isfinite(ns) ? std::optional(ns) : std::nullopt;  // a document may lack the numbers for it
  }
  /// Returns the time of all threads in the measured phase, ns. In an open loop without timed calls it includes their
  /// waiting.
  double time_ns() const {
    const auto of_one = operation_ns();
    return of_one ? *of_one * operations() : or_zero(trial().placement.processors) * 1e9 * done_.seconds;
  }
  /// Returns a count divided by the operations; 0 if there were none.
  double per_operation(double count) const { return done_.operations > 0 ? count / operations() : 0; }
  double per_operation(std::string_view name) const { return per_operation(counter(name)); }
  /// Returns a counter of ns as a share of the threads' time, 0 to 1.
  double share(std::string_view name) const { return counter(name) / time_ns(); }
  bool begins() const { return counter("begins") > 0; }
  /// Returns true if transactions were tried, or left out by choice. Otherwise all operations took the lock, and the
  /// result's reason says why.
  bool elides() const { return begins() || or_zero(trial().sync.fallback_rate) < 1 || counter("direct_lock") > 0; }
  bool changes() const { return option("workload") != "lookup"; }
  /// Returns what the numbers are of, in words.
  std::string modelled_on() const {
    const auto& modelled = machine().modelled;
    return modelled ? fmt::format("modelled on {} ({})", modelled.value->name, modelled.value->digest) : "measured";
  }

 private:
  const Json& document_;
  const RunResult run_;
  // Empty if the document has none.
  Throughput done_;
  SyncStats::Counts counters_, aborts_;
};

std::string head(const Result& r) {
  const auto takes = r.operation_ns();
  const Limits& limits = r.trial().limits;
  return fmt::format("{} under {}, {} thread{}, {}{}{}{}.\n", r.option("index"), r.option("sync"), r.option("threads"),
                     r.option("threads") == "1" ? "" : "s", r.option("workload"),
                     r.open() && r.trial().offer->per_second > 0
                         ? fmt::format(", at an offered load of {} a second", short_number(r.trial().offer->per_second))
                         : "",
                     takes ? fmt::format(": {:.4g} ns of processor time each", *takes) : "",
                     limits.chase_ratio ? fmt::format(", as long as {:.2g} dependent cache lines of {:.3g} ns",
                                                      *limits.chase_ratio, or_zero(limits.chase_ns))
                                        : std::string());
}

/// Returns why aborts of a cause happen, and what to try.
std::string advice(const Result& r, std::string_view cause) {
  if (cause == "zero") {
    std::string text;
    if (r.changes() && r.option("alloc") != "arena+touch") {
      text = "pages of new nodes were not touched before: try --alloc=arena+touch";
    } else {
      text = "pages that were never touched, system calls and interrupts abort with this status";
    }
    if (r.machine().modelled) {
      text += "; so do marks of NUMA balancing, without which kernel.marks_per_s=0 models the machine";
    } else if (holds(r.machine().damon) || holds(r.machine().numa_balancing)) {
      text +=
          "; the kernel clears Accessed bits here (harness doctor says which part of it), and a transaction that meets "
          "such a page aborts too";
    }
    if (const double scouts = r.counter("scouts"); scouts > 0) {
      text += fmt::format("; of {:.0f} runs that touched the pages outside, {} let the next try commit", scouts,
                          percent(r.counter("scout_repaired") / scouts));
    } else {
      text += "; --sync=adaptive touches the pages outside the transaction, since retrying alone never helps";
    }
    return text;
  }
  if (cause == "conflict") {
    return "threads change lines that other threads read: --sync=hybrid changes them in transactions of a few lines, "
           "olc "
           "without transactions";
  }
  if (cause == "capacity") {
    return r.option("batch") != "1"
               ? "a transaction touches more lines than the caches can watch: try a smaller --batch"
               : "an operation touches more lines than the caches can watch: --sync=adaptive gives up "
                 "sooner, olc has no such limit";
  }
  if (cause == "lock_busy") {
    return "another thread held the lock: each fallback aborts the transactions of all other threads. More restarts "
           "make it "
           "rarer (rtm:20), and respec=1 keeps it from spreading";
  }
  if (cause == "arena") return "the thread's pool ran empty inside; it was refilled outside before the next try";
  if (cause == "retry_only") return "the processor gives no reason and says that a retry may help";
  if (cause == "nested") return "it happened in a transaction inside the transaction";
  if (cause == "debug") return "a breakpoint: is a debugger attached?";
  return "a code that the harness does not use";
}

/// Returns the number of commits at the second try or later.
double later_commits(const Result& r) {
  double later = 0;
  for (const auto& field : TransactionCounters::later_commit_fields()) {
    later += r.counter(field.name);
  }
  return later;
}

void find_aborts(const Result& r, std::vector<Observation>& out) {
  if (!r.begins()) return;
  const double retry = r.share("retry_ns"), wait = r.share("wait_ns");
  const double hold = r.share("hold_ns");
  if (retry + hold > kRare) {
    out.push_back(
        {retry + hold, fmt::format("{} of the threads' time followed a first abort: {} trying again, {} with the lock; "
                                   "{} was waiting for the lock.",
                                   percent(retry + hold), percent(retry), percent(hold), percent(wait))});
  }
  for (const auto& [cause, count] : r.aborts()) {
    const double times = static_cast<double>(count), rate = r.per_operation(times);
    if (rate < kRare) continue;
    out.push_back({(retry + hold) * times / static_cast<double>(total_of(r.aborts())),
                   fmt::format("{} abort{} an operation by {}: {}.", percent(rate), rate == 1 ? "" : "s", cause,
                               advice(r, cause))});
  }
  if (const double at_once = 1 - later_commits(r) / std::max(1.0, r.counter("commits")); at_once < 1 - kLittle) {
    out.push_back({retry / 2, fmt::format("{} of commits were at the first try.", percent(at_once))});
  }
}

void find_fallbacks(const Result& r, std::vector<Observation>& out) {
  const double rate = or_zero(r.trial().sync.fallback_rate);
  if (rate < kRare || !r.elides()) return;
  const double chosen = r.per_operation("direct_lock");
  std::string text = fmt::format("{} of the operations that could be elided took the lock", percent(rate));
  if (chosen >= kRare) text += fmt::format(", {} by choice, because it was cheaper", percent(chosen));
  if (const auto restarts = value_of(r.trial().sync.options, "restarts"); restarts && restarts->size() == 1) {
    text += fmt::format(": {} restarts are few, try rtm:20", *restarts);
  }
  if (value_of(r.trial().sync.options, "respec") == "0")
    text += "; respec=0 lets one fallback cause the next, try respec=1";
  out.push_back({std::max(rate - chosen, 0.0), text + "."});
}

/// Finds a collapse that began in the measured phase: compares the last quarter of the intervals with the first.
void find_collapse(const Result& r, std::vector<Observation>& out) {
  if (!r.trial().sync.series || !r.elides()) return;
  const std::vector<double> rates = value_of(*r.trial().sync.series, "fallbacks").value_or(std::vector<double>());
  const auto quarter = static_cast<std::ptrdiff_t>(rates.size() / 4);
  if (quarter == 0) return;
  const auto mean = [&](auto from) {
    return std::accumulate(from, from + quarter, 0.0) / static_cast<double>(quarter);
  };
  const double first = mean(rates.begin()), last = mean(rates.end() - quarter);
  if (last < kLittle || last < 2 * first) return;
  out.push_back(
      {last - first, fmt::format("A collapse began: {} of the operations that could be elided fell back in the first "
                                 "quarter of the phase, {} in the last.",
                                 percent(first), percent(last))});
}

void find_latency(const Result& r, std::vector<Observation>& out) {
  if (!r.trial().latency) return;
  const Latency& latency = *r.trial().latency;
  const auto if_any = [](const OrReason<LatencySummary>& s, double percent) {
    return s ? time_at(*s, percent) : std::nullopt;
  };
  const auto median = time_at(latency.all, 50), all = time_at(latency.all, 99.9),
             fallen = if_any(latency.fell_back, 99.9);
  const auto call = time_at(latency.all, 99), response = if_any(latency.response, 99);
  if (call && response && *response >= 2 * *call) {
    out.push_back(
        {.1, fmt::format("Operations waited for those before them: one in a hundred was done {} or more after it was "
                         "due, while one call in a hundred took {}. More threads or a smaller --rate shorten the wait.",
                         short_duration(*response / 1e9), short_duration(*call / 1e9))});
  }
  if (!median || !all) return;
  std::string text = fmt::format("One call in a thousand took {} or more, the median {}", short_duration(*all / 1e9),
                                 short_duration(*median / 1e9));
  if (fallen)
    text += fmt::format("; of the calls that fell back, one in a thousand took {}", short_duration(*fallen / 1e9));
  if (*all >= kLongTail * *median || fallen) out.push_back({kLittle, text + "."});
}

/// Returns the count of an event per operation, if there is one.
std::optional<double> counted(const PmuResult& pmu, std::string_view family, std::string_view name) {
  for (const PmuResult::Event& event : pmu.events) {
    if (event.family == family && event.name == name && event.total) return event.total->per_operation;
  }
  return std::nullopt;
}

/// Finds what the processor's events say, if they were counted.
void find_counted(const Result& r, std::vector<Observation>& out) {
  if (!r.trial().pmu) return;
  const PmuResult& pmu = *r.trial().pmu;
  if (const auto rate = value_of(pmu.derived, "instructions_per_cycle")) {
    std::string text = fmt::format("{} instructions an operation, {:.2g} a cycle",
                                   three_digits(counted(pmu, "core", "instructions").value_or(0)), *rate);
    const auto add = [&](std::optional<double> misses, const char* of) {
      if (misses) text += fmt::format("; {:.3g} misses of the {}", *misses, of);
    };
    add(counted(pmu, "cache", "cache-misses"), "last cache");
    add(counted(pmu, "tlb", "dTLB-load-misses"), "TLB");
    text += r.open()    ? ", including those in which threads waited for operations."
            : *rate < 1 ? ": it mostly waited for memory."
                        : ".";
    out.push_back({kLittle, text});
  }
  if (const auto lost = value_of(pmu.derived, "aborted_cycles"); lost && *lost >= kLittle) {
    out.push_back({*lost, fmt::format("{} of the cycles were in transactions that aborted.", percent(*lost))});
  }
}

void find_rest(const Result& r, std::vector<Observation>& out) {
  const TrialResult& trial = r.trial();
  const Limits& limits = trial.limits;
  const Health& health = trial.health;
  const double chase = or_zero(limits.chase_ns), independent = or_zero(limits.independent_ns);
  const bool beyond_caches = or_zero(limits.footprint) >= kBeyondCaches;
  if (r.done().ended_by == Ending::kFull) {
    out.push_back(
        {1,
         "The run ended because the index was full: the rate is that of a table that fills up to its last free slot. "
         "Make the table larger, or insert less."});
  }
  if (const double rate = or_zero(trial.sync.restart_rate); rate >= kLittle) {
    out.push_back(
        {rate, fmt::format("{:.3g} restarts an operation: writers changed nodes that readers were in. Fewer threads or "
                           "less skew make it rarer; under rowex readers never restart.",
                           rate)});
  }
  if (holds(trial.placement.oversubscribed)) {
    out.push_back(
        {.5,
         fmt::format("{} threads shared {} processors: the scheduler affects every number. Try --threads={}.",
                     r.option("threads"), or_zero(trial.placement.processors), or_zero(trial.placement.processors))});
  } else if (const double timed = r.done().timed_share; timed > 0 && timed < .5) {
    out.push_back(
        {.05, fmt::format("Operations ran for {} of the wall time; the rest went into making requests, which no rate "
                          "includes.",
                          percent(timed))});
  }
  if (const double faults = r.per_operation(or_zero(trial.memory.minor_faults)); faults >= kLittle) {
    out.push_back(
        {std::min(1.0, faults * 500 * r.operations() / r.time_ns()),
         fmt::format("{:.2g} page faults an operation: memory came from the kernel in the measured phase{}.", faults,
                     r.changes() && r.option("alloc") != "arena+touch" ? "; try --alloc=arena+touch" : "")});
  }
  if (or_zero(trial.memory.page_bytes) == 4096 && beyond_caches && !r.option("alloc").empty() &&
      r.machine().thp.value != "never") {
    out.push_back(
        {.2,
         fmt::format("A dependent cache line cost {:.3g} ns on 4K pages, since the TLB does not cover the index: try "
                     "--hugepages=thp.",
                     chase)});
  }
  if (!r.changes() && r.option("batch") == "1" && independent > 0 && chase > 4 * independent && beyond_caches &&
      r.option("index") == "art") {
    out.push_back(
        {.3,
         fmt::format("A lookup waits for one line after the other, {:.3g} ns each; independent ones cost {:.2g} ns. "
                     "If lookups come together, try --batch=16.",
                     chase, independent)});
  }
  if (const double jain = r.done().jain.value.value_or(1); jain < .95) {
    out.push_back({1 - jain, fmt::format("Threads were unequal: Jain's index is {:.3f} (1 is equal).", jain)});
  }
  if (const double steal = or_zero(health.steal_share); steal >= kLittle) {
    out.push_back({steal, fmt::format("The host took {} of the processors' time for other machines.", percent(steal))});
  }
  const double share = health.on_processor.value.value_or(1);
  if (share < kEnoughOnProcessor && trial.status != Status::kNoisy) {  // the reason of a noisy run says it already
    out.push_back(
        {1 - share,
         fmt::format(
             "A thread was on a processor for {} of the time in which it could have run: other programs had it, "
             "and the numbers include that.",
             percent(share))});
  }
  const u32 processors = r.machine().processors;
  if (const double load = or_zero(health.load_before); load > processors / 2.0) {
    out.push_back(
        {.1, fmt::format("The load average was {:.1f} on {} processors before the run: other programs were running.",
                         load, processors)});
  }
}

/// Returns where the time beyond the base's went.
std::string distance(const Result& r, const Result& base) {
  const auto own = r.operation_ns(), of_base = base.operation_ns();
  if (!own || !of_base)
    throw InputError("explain: in an open loop the time of an operation is unknown without --latency");
  const double more = *own - *of_base;
  std::string text = fmt::format("{} takes {:.4g} ns: this is {:.3g} times that, {:.4g} ns {}.\n", base.option("sync"),
                                 *of_base, *own / *of_base, std::abs(more), more < 0 ? "less" : "more");
  if (more <= 0 || !r.begins()) return text;
  const double retry = r.per_operation("retry_ns"), hold = r.per_operation("hold_ns");
  const u64 aborts = total_of(r.aborts());
  const double zero =
      aborts > 0 ? retry * static_cast<double>(count_of(r.aborts(), "zero")) / static_cast<double>(aborts) : 0;
  text += fmt::format("  {:8.2f} ns  page repair: trying again after aborts with status zero\n", zero);
  text += fmt::format("  {:8.2f} ns  trying again for other reasons, waits included\n", retry - zero);
  text += fmt::format("  {:8.2f} ns  with the lock\n", hold);
  const double rest = more - retry - hold;
  if (const auto& transaction = r.trial().limits.transaction_ns) {
    // Only commits at the first try count here; the others are part of trying again.
    const double committed = *transaction * std::max(0.0, r.counter("commits") - later_commits(r)) / r.operations();
    text += fmt::format("  {:8.2f} ns  transactions themselves: an empty one took {:.3g} ns in this run\n", committed,
                        *transaction);
    text += fmt::format(
        "  {:8.2f} ns  the rest, above all lost overlap: transactions keep the misses of successive operations apart\n",
        rest - committed);
  } else {
    text += fmt::format(
        "  {:8.2f} ns  the rest: transactions themselves, and misses of successive operations that they keep "
        "apart\n",
        rest);
  }
  return text;
}

}  // namespace

std::string explained(const Json& document, const Json& base) {
  const Result r(document);
  const Status status = r.trial().status;
  const std::string& reason = r.trial().reason;
  if (!(r.done().per_second > 0)) {
    return fmt::format("{} under {}: {}: {}\n", r.option("index"), r.option("sync"), word(status),
                       reason.empty() ? "no operation was done" : reason);
  }
  std::string text = head(r);
  if (status == Status::kNoisy)
    text += fmt::format("Noisy, so the numbers include other programs' effects: {}\n", reason);
  if (status == Status::kModelled) text += fmt::format("Modelled: {}.\n", reason);
  if (status == Status::kDegraded)
    text += fmt::format("Degraded, so the numbers are not of the run that was asked for: {}\n", reason);
  if (status == Status::kInvalid || status == Status::kFailed) {
    return text + fmt::format("{}: {}. Its numbers mean nothing.\n", status == Status::kInvalid ? "Invalid" : "Failed",
                              reason);
  }
  if (!base.is_null()) {
    for (const char* option :
         {"index",     "threads",          "threads_per",   "pin",   "smt",         "workload",   "keys",  "dist",
          "churn",     "negative",         "records",       "batch", "batch_order", "value_size", "alloc", "mem",
          "hugepages", "clear_accessed_s", "latency_every", "rate",  "slo"}) {
      const std::string own = option_at(document, option), of_base = option_at(base, option);
      if (own == of_base) continue;
      throw InputError(
          fmt::format("explain: the results differ in {}: {} and {}; only sync may", option, own, of_base));
    }
    const Result of_base(base);
    if (r.modelled_on() != of_base.modelled_on()) {
      throw InputError(fmt::format("explain: one result is {} and the other is {}; only sync may differ",
                                   r.modelled_on(), of_base.modelled_on()));
    }
    if (!(of_base.done().per_second > 0)) throw InputError("explain: the result to compare with has no throughput");
    text += distance(r, of_base);
  }
  text += virtual_time_text(r.trial());
  std::vector<Observation> observations;
  find_aborts(r, observations);
  find_fallbacks(r, observations);
  find_collapse(r, observations);
  find_latency(r, observations);
  find_counted(r, observations);
  find_rest(r, observations);
  std::stable_sort(observations.begin(), observations.end(),
                   [](const auto& a, const auto& b) { return a.weight > b.weight; });
  for (const Observation& observation : observations) text += "- " + observation.text + '\n';
  if (observations.empty()) text += "Nothing stands out.\n";
  return text;
}

std::string explained_lines(const Json& document) {
  const Result r(document);
  return head(r) + hot_lines_text(r.trial());
}

std::string explain(const std::string& path, const std::string& base_path, bool hot_lines) {
  const std::vector<Json> results = read_results("explain", path);
  Json base;
  if (!base_path.empty()) {
    const std::vector<Json> bases = read_results("explain", base_path);
    if (bases.size() != 1)
      throw InputError(fmt::format("explain: '{}' holds {} results; one is needed", base_path, bases.size()));
    base = bases.front();
  }
  std::string text;
  for (const Json& result : results)
    text += (text.empty() ? "" : "\n") + (hot_lines ? explained_lines(result) : explained(result, base));
  return text;
}

}  // namespace latchlab
