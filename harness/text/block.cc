// The block of text about a single run.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"
#include "harness/host/pmu_events.h"
#include "harness/text/open_loop_text.h"
#include "harness/text/table.h"

namespace latchlab {

namespace {

std::string line(std::string_view name, const std::string& text) { return fmt::format("  {:<13}{}\n", name, text); }

std::string bytes_text(u64 bytes) { return short_number(static_cast<double>(bytes)) + "B"; }

std::string throughput_text(const TrialResult& trial) {
  if (!trial.throughput) return "-: " + trial.throughput.reason;
  const Throughput& t = *trial.throughput;
  std::string text = fmt::format("{} operations/s", short_number(t.per_second));
  // The cost of an operation is processor time, since threads that wait for a processor do no work. It is left out for
  // an open loop, where threads also wait for arrivals.
  if (t.per_second > 0 && trial.placement.processors && !trial.offer) {
    text += fmt::format("   {:.0f} ns of processor time each", 1e9 * *trial.placement.processors / t.per_second);
  }
  text += fmt::format("   {} in {}", short_number(static_cast<double>(t.operations)), short_duration(t.seconds));
  if (t.timed_share > 0 && t.timed_share < 0.995) {
    text += fmt::format(" ({} including their generation)", short_duration(t.seconds / t.timed_share));
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

/// `keys`: number of keys in a call.
std::string latency_lines(const Latency& l, u32 keys) {
  std::string text = line("latency", fmt::format("{}   of {} timed {}", summary_text(l.all), grouped(l.all.count),
                                                 keys == 1 ? "calls" : fmt::format("batches of {}", keys)));
  const bool many = l.operations.size() > 1;
  for (const OperationLatency& of : l.operations) {
    if (many) text += line("", fmt::format("{:<11}{}", of.name, summary_text(of.summary)));
  }
  if (l.response) text += line("response", fmt::format("{}   from arrival to end", summary_text(*l.response)));
  for (const OperationLatency& of : l.operations) {
    if (many && of.response) text += line("", fmt::format("{:<11}{}", of.name, summary_text(*of.response)));
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

/// Returns a line for each phase of the workload. For rows of --rows, returns one line with the slowest and fastest
/// rate.
std::string rows_lines(const std::vector<ResultRow>& rows) {
  const auto rate = [](const ResultRow& row) { return static_cast<double>(row.operations) / row.seconds; };
  if (rows.front().phase.empty()) {
    const auto [least, most] = std::ranges::minmax(rows, {}, rate);
    const u64 largest = std::ranges::max(rows, {}, &ResultRow::operations).operations;
    return line("rows", fmt::format("{} of up to {} operations   {}/s to {}/s", rows.size(),
                                    short_number(static_cast<double>(largest)), short_number(rate(least)),
                                    short_number(rate(most))));
  }
  std::string text;
  for (const ResultRow& row : rows) {
    text += line(text.empty() ? "phases" : "",
                 fmt::format("{:<12} {}/s   {} operations", row.phase, short_number(rate(row)),
                             short_number(static_cast<double>(row.operations))));
  }
  return text;
}

std::string limits_text(const Limits& l) {
  std::string text;
  if (l.chase_ns && l.chase_ratio) {
    text += fmt::format("an operation takes as long as {:.1f} dependent cache lines ({:.0f} ns each)", *l.chase_ratio,
                        *l.chase_ns);
  } else if (l.chase_ns) {
    text += fmt::format("a dependent cache line takes {:.0f} ns", *l.chase_ns);
  } else {
    text += "-: " + l.chase_ns.reason;
  }
  if (l.independent_ns && l.independent_ratio) {
    text += fmt::format(" or {:.0f} independent ones ({:.1f} ns each): {} of the limit", *l.independent_ratio,
                        *l.independent_ns, percent(1 / *l.independent_ratio));
  }
  return text;
}

std::string waits_text(const Scheduling& s) {
  std::string text = s.run_delay_ns
                         ? fmt::format("{:.3g} s without a processor", static_cast<double>(*s.run_delay_ns) / 1e9)
                         : "-: " + s.run_delay_ns.reason;
  const auto add = [&](const OrReason<u64>& count, const char* what) {
    if (count) text += fmt::format("   {} {}", short_number(static_cast<double>(*count)), what);
  };
  add(s.yields, "yields");
  if (s.parks && *s.parks > 0) add(s.parks, "parks");
  add(s.late_handovers, "handovers to descheduled threads");
  add(s.preempted_outside_waits, "preemptions outside waits");
  add(s.slice_extensions, "slices extended");
  if (!s.yields) text += "   " + s.yields.reason;
  return text;
}

std::string words_text(const Limits& l) {
  if (!l.words_ns) return "-: " + l.words_ns.reason;
  std::string text = fmt::format("{:.1f} ns an operation that reads no value", *l.words_ns);
  if (l.value_ratio && l.independent_ns)
    text += fmt::format(", and {} independent lines of the value ({:.1f} ns each): {} of the limit", *l.value_lines,
                        *l.independent_ns, percent(1 / *l.value_ratio));
  return text;
}

std::string loop_text(const Limits& l) {
  if (!l.loop_ns) return "-: " + l.loop_ns.reason;
  return fmt::format("{:.1f} ns an operation if the index does nothing", *l.loop_ns) +
         (l.loop_share ? ": at most " + percent(*l.loop_share) + " of its time" : "");
}

/// Returns the lines about two memories.
std::string far_lines(const TwoMemories& m) {
  const std::string kind = m.hwloc         ? fmt::format(" ({} by hwloc)", *m.hwloc)
                           : m.file_system ? fmt::format(" ({})", *m.file_system)
                                           : "";
  std::string text = line(
      "far", fmt::format("{}{}   {} live of {} reserved{}", m.words, kind, bytes_text(m.live), bytes_text(m.reserved),
                         m.locked ? fmt::format(", {} locked", bytes_text(*m.locked)) : ""));
  text += line("", speeds_text(m));
  if (!m.near_reads) return text + line("", m.rule + ": inner nodes are near");
  text += line(
      "", fmt::format("{} of the values read were near   {}", m.near_share ? percent(*m.near_share) : "-", m.rule));
  text += line(
      "", fmt::format("{} promoted, {} demoted, {} of the time   far bytes: {} read, {} written",
                      short_number(static_cast<double>(*m.promotions)), short_number(static_cast<double>(*m.demotions)),
                      percent(*m.moving_share), bytes_text(*m.far_bytes_read), bytes_text(*m.far_bytes_written)));
  return text;
}

std::string aborts_text(const std::vector<NamedCount>& aborts, u64 operations) {
  const u64 total = total_of(aborts);
  if (total == 0) return "none";
  std::vector<NamedCount> sorted = aborts;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  std::string text = operations == 0 ? grouped(total)
                                     : fmt::format("{:.3g} an operation",
                                                   static_cast<double>(total) / static_cast<double>(operations));
  const char* separator = ": ";
  for (const NamedCount& cause : sorted) {
    if (cause.count == 0) break;
    text += fmt::format("{}{} {}", separator, cause.name,
                        percent(static_cast<double>(cause.count) / static_cast<double>(total)));
    separator = ", ";
  }
  return text;
}

/// Returns why events were not counted, a line for each reason. A line names a family if the reason applies to all its
/// events, else the events.
std::string uncounted_lines(const PmuResult& pmu) {
  struct Why {
    std::string reason;
    std::vector<std::pair<std::string, std::vector<std::string>>> families;  // with their events
  };
  std::vector<Why> all;
  for (const PmuResult::Event& event : pmu.events) {
    if (event.total) continue;
    auto why = std::ranges::find(all, event.total.reason, &Why::reason);
    if (why == all.end()) why = all.insert(all.end(), {.reason = event.total.reason, .families = {}});
    if (why->families.empty() || why->families.back().first != event.family)
      why->families.emplace_back(event.family, 0);
    why->families.back().second.push_back(event.name);
  }
  std::string text;
  for (const Why& why : all) {
    std::vector<std::string> words;
    for (const auto& [family, names] : why.families) {
      const auto in_family = std::ranges::count(pmu.events, family, &PmuResult::Event::family);
      const bool whole = std::ssize(names) == in_family && family != kNamedFamily;
      words.push_back(whole ? family : fmt::format("{}", fmt::join(names, ", ")));
    }
    text += line("not counted", fmt::format("{}: {}", fmt::join(words, ", "), why.reason));
  }
  return text;
}

/// Returns the counted events and, if the user gave --pmu (`asked`), why the others were not counted. In an open loop
/// (`open`) the counts include waits for arrivals.
std::string pmu_lines(const PmuResult& pmu, bool asked, bool open) {
  std::string text;
  double running = 1;
  bool user_only = false;
  for (const PmuResult::Event& event : pmu.events) {
    if (event.family == kSoftwareFamily || !event.total) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", three_digits(event.total->per_operation), event.name);
    running =
        std::min(running, static_cast<double>(event.total->running_ns) / static_cast<double>(event.total->enabled_ns));
    user_only |= event.total->user_only;
  }
  const std::string rest = asked ? uncounted_lines(pmu) : "";
  if (text.empty()) return rest;
  text += " an operation";
  for (const auto& [name, value] : pmu.derived) {
    if (name == "instructions_per_cycle") text += fmt::format("   {:.2f} instructions a cycle", value);
    if (name == "transactional_cycles") text += fmt::format("   {} of cycles in transactions", percent(value));
    if (name == "aborted_cycles") text += fmt::format(", {} in aborted ones", percent(value));
    if (name == "package_joules_per_operation") text += fmt::format("   {:.3g} nJ an operation", value * 1e9);
  }
  if (running < .995) text += fmt::format("   in turns: each counted for at least {} of the time", percent(running));
  if (user_only) text += "   without the kernel's part";
  if (open) text += "   including waits for arrivals";
  return line("counted", text) + rest;
}

/// Returns how often Accessed bits were cleared; empty without --clear-accessed.
std::string accessed_line(const RunResult& r) {
  if (r.plan.config.clear_accessed_ns == 0) return "";
  const OrReason<u64>& cleared = r.trial.memory.accessed_cleared;
  return line("accessed", cleared ? fmt::format("bits of all pages cleared {} times, at least {} apart",
                                                grouped(*cleared), duration_text(r.plan.config.clear_accessed_ns))
                                  : "-: " + cleared.reason);
}

std::string fallbacks_text(const SyncStats& sync) {
  std::string text = percent(*sync.fallback_rate) + " of the operations that could be elided";
  if (!sync.counters) return text;
  const double operations = static_cast<double>(count_of(*sync.counters, "ops"));
  if (const u64 chosen = count_of(*sync.counters, "direct_lock"); chosen > 0) {
    text += fmt::format("   {} by choice", percent(static_cast<double>(chosen) / operations));
  }
  return text;
}

std::string validation_text(const Validation& v) {
  if (!v.passed) return "-: " + v.passed.reason;
  if (!*v.passed) return "FAILED: " + v.detail;
  return v.found_keys ? fmt::format("passed: {} keys, as tallied", grouped(*v.found_keys)) : std::string("passed");
}

/// Returns a line about recorded calls, and the lines of calls that conflict.
std::string history_lines(const History& h) {
  const std::string verdict =
      h.linearizable ? (*h.linearizable ? "linearizable" : "NOT LINEARIZABLE") : "-: " + h.linearizable.reason;
  std::string text =
      line("history", fmt::format("{}   {} calls on {} of the keys{}{}", verdict, grouped(h.calls), h.keys,
                                  h.preemptions ? fmt::format(", {} preemptions", grouped(*h.preemptions)) : "",
                                  h.ended_in ? ", full in the phase " + *h.ended_in : ""));
  if (!h.witness) return text;
  for (std::size_t at = 0; at < h.witness->size();) {
    const std::size_t end = std::min(h.witness->find('\n', at), h.witness->size());
    text += line("", h.witness->substr(at, end - at));
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string block_of(const RunResult& r) {
  const Config& c = r.plan.config;
  const TrialResult& t = r.trial;
  std::string text = fmt::format("{}  {}  {} thread{}  {}  {} {} keys  {}\n", c.index.str(), c.sync.str(), c.threads,
                                 c.threads == 1 ? "" : "s", c.workload.str(), grouped(c.records), c.keys.str(),
                                 r.plan.no_distribution.empty() ? c.distribution.str() : "in turn");
  if (t.status != Status::kOk) text += line(word(t.status), t.reason);
  if (t.interrupted && t.throughput) text += line("interrupted", "the numbers cover the part that ran");
  text += line("throughput", throughput_text(t));
  if (t.throughput) {
    const Throughput& rates = *t.throughput;
    if (rates.per_operation.size() > 1) {
      for (const OperationRate& rate : rates.per_operation) {
        // An upsert of an existing key has not failed: it updates.
        text += line(
            "",
            fmt::format(
                "{:<9}{:>8}/s   {} {}", rate.name, short_number(rate.per_second),
                percent(rate.count == 0 ? 0 : static_cast<double>(rate.succeeded) / static_cast<double>(rate.count)),
                rate.name == "upsert" ? "were new" : "succeeded"));
      }
    }
    if (rates.per_thread.size() > 1) {
      const bool shared = t.placement.oversubscribed.value.value_or(false);
      const auto [least, most] = std::minmax_element(rates.per_thread.begin(), rates.per_thread.end());
      text += line("threads", fmt::format("{}/s to {}/s each   least over most {:.2f}   Jain {}   {} processor{}{}",
                                          short_number(*least), short_number(*most), *most == 0 ? 0 : *least / *most,
                                          number_text(rates.jain, 3), number_text(t.placement.processors, 0),
                                          t.placement.processors && *t.placement.processors == 1 ? "" : "s",
                                          shared ? ", fewer than threads" : ""));
    }
  }
  if (t.placement.oversubscribed.value.value_or(false)) text += line("waits", waits_text(t.scheduling));
  if (t.rows && !t.rows->empty()) text += rows_lines(*t.rows);
  if (t.slo) text += line("slo", slo_text(*c.slo, *t.slo));
  if (t.offer) text += line("offer", offer_text(*t.offer));
  if (t.latency) text += latency_lines(*t.latency, r.plan.config.batch.keys);
  if (t.offer && !t.latency) text += line("response", "-: " + t.latency.reason);
  if (t.nodes_per_fetch) text += line("nodes", fmt::format("{:.3f} visited by a lookup", *t.nodes_per_fetch));
  text += line("limit", limits_text(t.limits));
  // Where all limits are missing, one line says why.
  if (t.limits.loop_ns.reason != t.limits.chase_ns.reason || t.limits.loop_ns)
    text += line("loop", loop_text(t.limits));
  if (c.sized() && (t.limits.words_ns || t.limits.words_ns.reason != t.limits.chase_ns.reason))
    text += line("words", words_text(t.limits));
  if (t.sync.aborts) {
    text += line("aborts", aborts_text(*t.sync.aborts, t.throughput ? t.throughput->operations : 0));
  }
  if (t.sync.fallback_rate) text += line("fallbacks", fallbacks_text(t.sync));
  if (t.sync.restart_rate) text += line("restarts", fmt::format("{:.3g} an operation", *t.sync.restart_rate));
  if (t.pmu) text += pmu_lines(*t.pmu, c.pmu_given, t.offer.value.has_value());
  if (t.memory.index_live) {
    text += line("memory", fmt::format("{} bytes a key   {} live of {} reserved   {} pages{}",
                                       number_text(t.memory.bytes_per_key, 1), bytes_text(*t.memory.index_live),
                                       t.memory.index_reserved ? bytes_text(*t.memory.index_reserved) : "?",
                                       page_text(t.memory.page_bytes),
                                       t.memory.malloc ? "   from " + t.memory.malloc->version : ""));
  } else {
    text += line("memory", "-: " + t.memory.index_live.reason);
  }
  if (t.memory.values_live) {
    text += line("values", fmt::format("{} bytes each   {} live of {} reserved", grouped(c.value_size),
                                       bytes_text(*t.memory.values_live), bytes_text(*t.memory.values_reserved)));
  }
  if (t.memory.far) text += far_lines(*t.memory.far);
  text += accessed_line(r);
  if (r.machine.numa_nodes > 1) text += line("nodes", page_nodes_text(t.placement));
  text += line("validation", validation_text(t.validation));
  if (t.history) text += history_lines(*t.history);
  if (const auto times = grown_by_warmup(c, t)) {
    text += line("note", fmt::format("the warm-up changed the index: the measured phase began with {} keys, {:.3g} "
                                     "times {}, and ended with {}",
                                     grouped(*t.memory.keys_at_start), *times, loaded_by(c),
                                     t.memory.keys ? grouped(*t.memory.keys) : "?"));
  }
  for (const std::string& note : notes_of(t)) text += line("note", note);
  return text;
}

}  // namespace latchlab
