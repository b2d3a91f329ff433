#include "harness/table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "harness/cli_values.h"
#include "harness/pmu_events.h"
#include "harness/progress.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

/// What tells runs apart, in the order of the options.
Words axes_of(const Config& c) {
  return {{"index", c.index.str()},
          {"sync", c.sync.str()},
          {"threads", fmt::format("{}", c.threads)},
          {"pin", c.pin.text},
          {"alloc", c.own_memory.empty() ? std::string(word(c.alloc)) : "-"},
          {"hugepages", std::string(word(c.huge_pages))},
          {"workload", c.workload.str()},
          {"keys", c.keys.str()},
          {"dist", c.no_distribution.empty() ? c.distribution.str() : "-"},
          {"churn", c.churn.str()},
          {"negative", fmt::format("{}", c.negative)},
          {"batch", batch_text(c.batch)},
          {"value-size", fmt::format("{}", c.value_size)},
          {"records", grouped(c.records)},
          {"warmup", duration_text(c.warmup_ns)},
          {"time", duration_text(c.time_ns)},
          {"ops", grouped(c.ops)},
          {"sample", duration_text(c.sample_ns)},
          {"rows", c.rows.value_or(0) == 0 ? "-" : grouped(*c.rows)},
          {"rate", c.rate ? c.rate->str() : "-"},
          {"slo", c.slo ? c.slo->str() : "-"},
          {"latency", latency_text(c.latency_every)},
          {"pmu", c.pmu},
          {"seed", fmt::format("{}", c.seed)},
          {"validate", std::string(word(c.validate))},
          {"reclaim", c.no_reclaim.empty() ? std::string(word(c.reclaim)) : "-"},
          {"threads-per", std::string(word(c.threads_per))},
          {"mem", c.mem.text},
          {"clear-accessed", c.clear_accessed_ns == 0 ? "off" : duration_text(c.clear_accessed_ns)},
          {"smt", c.pin.kind == Pin::Kind::kList ? "-" : std::string(word(c.smt))},
          {"replicate", fmt::format("{}", c.replicate)}};
}

constexpr std::size_t kCommonAxes = 9;   // index to dist, said even where all runs have the same; the rest matters to who set it

std::string line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<13}{}\n", name, text);
}

template <class T>
std::string number(const Measured<T>& measured, int decimals) {
  return measured ? fmt::format("{:.{}f}", static_cast<double>(*measured), decimals) : "-";
}

std::string bytes_text(u64 bytes) { return short_number(static_cast<double>(bytes)) + "B"; }

u64 sum(const std::vector<NamedCount>& counts) {
  u64 total = 0;
  for (const NamedCount& count : counts) total += count.count;
  return total;
}

std::string throughput_text(const TrialResult& trial) {
  if (!trial.throughput) return "-: " + trial.throughput.reason;
  const Throughput& t = *trial.throughput;
  std::string text = fmt::format("{} operations/s", short_number(t.per_second));
  // Threads that wait for a processor do not work: what an operation costs is time of a processor. Not in an open loop, where
  // they wait for arrivals too.
  if (t.per_second > 0 && trial.placement.processors && !trial.offer) {
    text += fmt::format("   {:.0f} ns of a processor each", 1e9 * *trial.placement.processors / t.per_second);
  }
  text +=
      fmt::format("   {} in {}", short_number(static_cast<double>(t.operations)), short_duration(t.seconds));
  if (t.timed_share > 0 && t.timed_share < 0.995) {
    text += fmt::format(", making them took the rest of {}", short_duration(t.seconds / t.timed_share));
  }
  return text;
}

std::string summary_text(const LatencySummary& s) {
  std::string text;
  for (const auto& [percent, ns] : s.percentiles) {
    text += fmt::format("p{} {}   ", percent, short_duration(static_cast<double>(ns) / 1e9));
  }
  return text + fmt::format("max {}", short_duration(static_cast<double>(s.max_ns) / 1e9));
}

/// `keys`: of a call.
std::string latency_lines(const Latency& l, u32 keys) {
  std::string text = line("latency", fmt::format("{}   of {} timed {}", summary_text(l.all), grouped(l.all.count),
                                                 keys == 1 ? "calls" : fmt::format("batches of {}", keys)));
  const bool many = l.operations.size() > 1;
  for (const OperationLatency& of : l.operations) {
    if (many) text += line("", fmt::format("{:<8}{}", of.name, summary_text(of.summary)));
  }
  if (l.response) text += line("response", fmt::format("{}   from when they were due", summary_text(*l.response)));
  for (const OperationLatency& of : l.operations) {
    if (many && of.response) text += line("", fmt::format("{:<8}{}", of.name, summary_text(*of.response)));
  }
  if (l.fell_back) text += line("", fmt::format("fell back  {}", summary_text(*l.fell_back)));
  return text;
}

std::string page_nodes_text(const Placement& p) {
  if (!p.page_nodes) return "-: " + p.page_nodes.reason;
  std::string text;
  for (const PageNodes::Share& s : p.page_nodes->shares) {
    text += fmt::format("{}node {}: {}", text.empty() ? "" : ", ", s.node, percent(s.share));
  }
  return text + " of the pages   " + p.mem;
}

/// A line for each phase of the workload; of rows of so many operations only what is between which two.
std::string rows_lines(const Rows& rows) {
  const auto rate = [](const Rows::Row& row) { return static_cast<double>(row.operations) / row.seconds; };
  if (rows.rows.front().name.empty()) {
    const auto [least, most] = std::ranges::minmax(rows.rows, {}, rate);
    return line("rows", fmt::format("{} of about {} operations   {}/s to {}/s", rows.rows.size(),
                                    short_number(static_cast<double>(rows.rows.front().operations)), short_number(rate(least)),
                                    short_number(rate(most))));
  }
  std::string text;
  for (const Rows::Row& row : rows.rows) {
    text += line(text.empty() ? "phases" : "", fmt::format("{:<12} {}/s   {} operations", row.name, short_number(rate(row)),
                                                           short_number(static_cast<double>(row.operations))));
  }
  return text;
}

std::string offer_text(const Offer& offer) {
  return fmt::format("{} operations/s came   one began {} late, at the end {}", short_number(offer.per_second),
                     short_duration(static_cast<double>(offer.lag.largest) / 1e9),
                     offer.lag.at_end == 0 ? "none" : short_duration(static_cast<double>(offer.lag.at_end) / 1e9));
}

std::string slo_text(const Slo& slo, const SloSearch& search) {
  const u64 last = search.tries.back().per_second;
  const std::string bound = fmt::format("p{} of at most {}", slo.thousandths / 1000.0, duration_text(slo.bound_ns));
  const std::string closed = fmt::format("a closed loop does {} operations/s", short_number(search.closed_per_second));
  switch (search.answer) {
    case RateSearch::Answer::kFound: break;
    case RateSearch::Answer::kAllKeep: return fmt::format("{} even at that rate: {}", bound, closed);
    case RateSearch::Answer::kNoneKeeps:
      return fmt::format("no rate has {}, not even {} a second; {}", bound, short_number(static_cast<double>(last)), closed);
    case RateSearch::Answer::kUnsteady: return fmt::format("no rate has {} twice; {}", bound, closed);
    case RateSearch::Answer::kUnfinished:
      return fmt::format("{}: the search ended at {} a second, its try {}; {}", bound, short_number(static_cast<double>(last)),
                         search.tries.size(), closed);
  }
  return fmt::format("{} up to {} operations/s, of {} tries; {}", bound, short_number(static_cast<double>(last)),
                     search.tries.size(), closed);
}

/// For the row of a run in an open loop.
std::string response_text(const LatencySummary& response) {
  std::string text = ", response";
  for (const auto& [percent, ns] : response.percentiles) {
    if (percent == 50 || percent == 99) text += fmt::format(" p{} {}", percent, short_duration(static_cast<double>(ns) / 1e9));
  }
  return text;
}

std::string limits_text(const Limits& l) {
  std::string text;
  if (l.chase_ns && l.chase_ratio) {
    text += fmt::format("an operation takes as long as {:.1f} dependent cache lines ({:.0f} ns each)",
                        *l.chase_ratio, *l.chase_ns);
  } else if (l.chase_ns) {
    text += fmt::format("a dependent cache line takes {:.0f} ns", *l.chase_ns);
  } else {
    text += "-: " + l.chase_ns.reason;
  }
  if (l.independent_ns && l.independent_ratio) {
    text += fmt::format(" or {:.0f} independent ones ({:.1f} ns)", *l.independent_ratio, *l.independent_ns);
  }
  return text;
}

std::string aborts_text(const std::vector<NamedCount>& aborts, u64 operations) {
  const u64 total = sum(aborts);
  if (total == 0) return "none";
  std::vector<NamedCount> sorted = aborts;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string text =
      operations == 0
          ? grouped(total)
          : fmt::format("{:.3g} an operation", static_cast<double>(total) / static_cast<double>(operations));
  const char* separator = ": ";
  for (const NamedCount& cause : sorted) {
    if (cause.count == 0) break;
    text += fmt::format("{}{} {}", separator, cause.name,
                        percent(static_cast<double>(cause.count) / static_cast<double>(total)));
    separator = ", ";
  }
  return text;
}

/// What the processor counted; where that is nothing, why, to who asked for it; "" for nobody.
/// In an open loop (`open`) threads count while they wait, too.
std::string pmu_text(const PmuResult& pmu, bool asked, bool open) {
  std::string text, why;
  double running = 1;
  bool user_only = false;
  for (const PmuResult::Event& event : pmu.events) {
    if (event.family == kSoftwareFamily) continue;
    if (!event.total) {
      if (why.empty()) why = fmt::format("-: {}: {}", event.name, event.total.reason);
      continue;
    }
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", three_digits(event.total->per_operation), event.name);
    running = std::min(running, static_cast<double>(event.total->running_ns) / static_cast<double>(event.total->enabled_ns));
    user_only |= event.total->user_only;
  }
  if (text.empty()) return asked ? why : "";
  text += " an operation";
  for (const auto& [name, value] : pmu.derived) {
    if (name == "instructions_per_cycle") text += fmt::format("   {:.2f} instructions a cycle", value);
    if (name == "transactional_cycles") text += fmt::format("   {} of cycles in transactions", percent(value));
    if (name == "aborted_cycles") text += fmt::format(", {} in aborted ones", percent(value));
    if (name == "package_joules_per_operation") text += fmt::format("   {:.3g} nJ an operation", value * 1e9);
  }
  if (running < .995) text += fmt::format("   in turns: counted {} of the time or more", percent(running));
  if (user_only) text += "   without the kernel's part";
  if (open) text += "   with the waiting for operations";
  return text;
}

/// An insert run whose time was over first: another size of index than the records say.
bool ended_before_its_records(const RunResult& result) {
  return result.config.workload.name == "insert" && result.trial.throughput &&
         result.trial.throughput->ended_by == Ending::kTime;
}

/// How many times the records were in the index as the measured phase began, if that is not about once: the
/// warm-up is of the same operations.
std::optional<double> grown_by_warmup(const RunResult& result) {
  const Measured<u64>& keys = result.trial.memory.keys_at_start;
  if (!keys || !result.trial.throughput || result.config.workload.name == "insert" || result.config.records == 0) return std::nullopt;
  const double times = static_cast<double>(*keys) / static_cast<double>(result.config.records);
  return std::abs(times - 1) < 0.01 ? std::nullopt : std::optional(times);
}

/// What says how many keys are loaded.
std::string_view loaded_by(const Config& config) { return Workload::by_file(config.workload.name) ? "what the file loads" : "--records"; }

std::string fallbacks_text(const SyncStats& sync) {
  std::string text = percent(*sync.fallback_rate) + " of what could be elided";
  if (!sync.counters) return text;
  u64 ops = 0, by_choice = 0;
  for (const NamedCount& c : *sync.counters) {
    if (c.name == "ops") ops = c.count;
    if (c.name == "direct_lock") by_choice = c.count;
  }
  if (by_choice > 0) text += fmt::format("   {} by choice", percent(static_cast<double>(by_choice) / static_cast<double>(ops)));
  return text;
}

std::string validation_text(const Validation& v) {
  if (!v.passed) return "-: " + v.passed.reason;
  if (!*v.passed) return "FAILED: " + v.detail;
  return v.found_keys ? fmt::format("passed: {} keys, as tallied", grouped(*v.found_keys))
                      : std::string("passed");
}

}  // namespace

std::string percent(double share) {
  const double p = share * 100;
  if (p == 0 || p >= 0.1) return fmt::format("{:.1f} %", p);
  return fmt::format("{:.2g} %", p);
}

std::string grouped(u64 value) {
  std::string digits = fmt::format("{}", value);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string three_digits(double value) {
  return value < 999.5 ? fmt::format("{:.3g}", value) : grouped(static_cast<u64>(value + .5));
}

std::string page_text(const Measured<u64>& page_bytes) {
  if (!page_bytes) return "?";
  return *page_bytes >= 1 << 20 ? fmt::format("{}M", *page_bytes >> 20)
                                : fmt::format("{}K", *page_bytes >> 10);
}

std::string block_of(const RunResult& r) {
  const Config& c = r.config;
  const TrialResult& t = r.trial;
  std::string text = fmt::format("{}  {}  {} thread{}  {}  {} {} keys  {}\n", c.index.str(), c.sync.str(),
                                 c.threads, c.threads == 1 ? "" : "s", c.workload.str(), grouped(c.records),
                                 c.keys.str(), c.no_distribution.empty() ? c.distribution.str() : "in turn");
  if (t.status != Status::kOk) text += line(word(t.status), t.reason);
  if (t.interrupted && t.throughput) text += line("interrupted", "the numbers cover the part that ran");
  text += line("throughput", throughput_text(t));
  if (t.throughput) {
    const Throughput& rates = *t.throughput;
    if (rates.per_operation.size() > 1) {
      for (const OperationRate& rate : rates.per_operation) {
        // An upsert of a key that is there has not failed: it updates.
        text += line("", fmt::format("{:<8}{:>9}/s   {} {}", rate.name, short_number(rate.per_second),
                                     percent(rate.count == 0 ? 0
                                                             : static_cast<double>(rate.succeeded) /
                                                                   static_cast<double>(rate.count)),
                                     rate.name == "upsert" ? "were new" : "succeeded"));
      }
    }
    if (rates.per_thread.size() > 1) {
      const bool shared = t.placement.oversubscribed.value.value_or(false);
      const auto [least, most] = std::minmax_element(rates.per_thread.begin(), rates.per_thread.end());
      text +=
          line("threads", fmt::format("{}/s to {}/s each   Jain {}   {} processor{}{}", short_number(*least),
                                      short_number(*most), number(rates.jain, 3),
                                      number(t.placement.processors, 0),
                                      t.placement.processors && *t.placement.processors == 1 ? "" : "s",
                                      shared ? ", fewer than threads" : ""));
    }
  }
  if (t.rows && !t.rows->rows.empty()) text += rows_lines(*t.rows);
  if (t.slo) text += line("slo", slo_text(*c.slo, *t.slo));
  if (t.offer) text += line("offer", offer_text(*t.offer));
  if (t.latency) text += latency_lines(*t.latency, r.config.batch.keys);
  if (t.nodes_per_fetch) text += line("nodes", fmt::format("{:.3f} on the way of a lookup", *t.nodes_per_fetch));
  text += line("limit", limits_text(t.limits));
  if (t.sync.aborts) {
    text += line("aborts", aborts_text(*t.sync.aborts, t.throughput ? t.throughput->operations : 0));
  }
  if (t.sync.fallback_rate) text += line("fallbacks", fallbacks_text(t.sync));
  if (t.sync.restart_rate) text += line("restarts", fmt::format("{:.3g} an operation", *t.sync.restart_rate));
  if (t.pmu) {
    const std::string counted = pmu_text(*t.pmu, c.pmu != kDefaultPmu, t.offer.value.has_value());
    if (!counted.empty()) text += line("counted", counted);
  }
  if (t.memory.index_live) {
    text += line("memory", fmt::format("{} bytes a key   {} live of {} reserved   {} pages{}",
                                       number(t.memory.bytes_per_key, 1), bytes_text(*t.memory.index_live),
                                       t.memory.index_reserved ? bytes_text(*t.memory.index_reserved) : "?",
                                       page_text(t.memory.page_bytes),
                                       t.memory.malloc ? "   from " + t.memory.malloc->version : ""));
  } else {
    text += line("memory", "-: " + t.memory.index_live.reason);
  }
  if (t.memory.payload) {
    text += line("payloads", fmt::format("{} of {} bytes   {} apart from the index", grouped(c.payloads), grouped(c.value_size),
                                         bytes_text(*t.memory.payload)));
  }
  if (r.machine.numa_nodes > 1) text += line("nodes", page_nodes_text(t.placement));
  text += line("validation", validation_text(t.validation));
  if (const auto times = grown_by_warmup(r)) {
    text += line("note", fmt::format("the warm-up changed the index: the measured phase began with {} keys, {:.3g} "
                                     "times {}, and ended with {}",
                                     grouped(*t.memory.keys_at_start), *times, loaded_by(c),
                                     t.memory.keys ? grouped(*t.memory.keys) : "?"));
  }
  if (t.key_file && t.key_file->empty + t.key_file->repeated > 0) {
    text += line("note", fmt::format("of the key file's {} lines {} are empty and {} repeat earlier ones",
                                     grouped(t.key_file->lines), grouped(t.key_file->empty),
                                     grouped(t.key_file->repeated)));
  }
  for (const std::string& note : t.health.notes) text += line("note", note);
  return text;
}

RunTable::RunTable(const std::vector<PlannedRun>& runs) {
  std::vector<std::set<std::string>> values;
  std::vector<std::size_t> widths;
  for (const PlannedRun& run : runs) {
    const Words words = axes_of(run.config);
    values.resize(words.size());
    widths.resize(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      values[i].insert(words[i].second);
      widths[i] = std::max({widths[i], words[i].first.size(), words[i].second.size()});
    }
  }
  if (runs.empty()) return;
  const Words words = axes_of(runs.front().config);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i >= kCommonAxes) values[i].erase("-");   // a run that an option does not reach differs in nothing
    if (values[i].size() > 1) {
      axes_.emplace_back(words[i].first, widths[i]);
    } else {
      axes_.emplace_back("", 0);
      if (i < kCommonAxes) {
        common_ += fmt::format("{}{}={}", common_.empty() ? "" : "  ", words[i].first, words[i].second);
      }
    }
  }
}

std::string RunTable::header() const {
  std::string text = common_.empty() ? "" : common_ + "\n\n";
  for (const auto& [name, width] : axes_) {
    if (!name.empty()) text += fmt::format("{:<{}}  ", name, width);
  }
  return text + fmt::format("{:>9}  {:>6}  {:>9}  {:>9}  {:>11}  {:>5}  {:>5}  {}\n", "Mops/s", "lines",
                            "fallbacks", "aborts/op", "restarts/op", "B/key", "pages", "status");
}

std::string RunTable::row(const RunResult& result) {
  std::string text;
  const Words words = axes_of(result.config);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].second != 0) text += fmt::format("{:<{}}  ", words[i].second, axes_[i].second);
  }
  const TrialResult& t = result.trial;
  const auto blank = [] { return std::string("-"); };
  const u64 operations = t.throughput ? t.throughput->operations : 0;
  const std::string aborts =
      t.sync.aborts && operations > 0
          ? fmt::format("{:.3g}", static_cast<double>(sum(*t.sync.aborts)) / static_cast<double>(operations))
          : blank();
  text += fmt::format("{:>9}  {:>6}  {:>9}  {:>9}  {:>11}  {:>5}  {:>5}  ",
                      t.throughput ? fmt::format("{:.3f}", t.throughput->per_second / 1e6) : blank(),
                      number(t.limits.chase_ratio, 1),
                      t.sync.fallback_rate ? percent(*t.sync.fallback_rate) : blank(), aborts,
                      t.sync.restart_rate ? fmt::format("{:.2g}", *t.sync.restart_rate) : blank(),
                      number(t.memory.bytes_per_key, 1), page_text(t.memory.page_bytes));
  text += word(t.status);
  if (t.interrupted) text += ", interrupted";
  if (ended_before_its_records(result)) text += ", ended by --time";
  if (t.throughput && t.throughput->ended_by == Ending::kFull) text += fmt::format(", full at {} keys", *t.memory.keys);
  if (const auto times = grown_by_warmup(result)) text += fmt::format(", began with {:.3g} x {}", *times, loaded_by(result.config));
  if (t.status != Status::kOk) {
    const auto known = std::find(reasons_.begin(), reasons_.end(), t.reason);
    const auto index = known - reasons_.begin();
    if (known == reasons_.end()) reasons_.push_back(t.reason);
    text += fmt::format(" [{}]", index + 1);
  }
  if (t.latency && t.latency->response) text += response_text(*t.latency->response);
  return text + '\n';
}

std::string RunTable::footer() const {
  std::string text = "\nlines: how many dependent cache lines an operation is worth in time\n";
  for (std::size_t i = 0; i < reasons_.size(); ++i) text += fmt::format("[{}] {}\n", i + 1, reasons_[i]);
  return text;
}

}  // namespace latchlab
