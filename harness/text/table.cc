#include "harness/text/table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "harness/config/numbers.h"
#include "harness/config/values.h"
#include "harness/host/topology.h"
#include "harness/text/open_loop_text.h"
#include "src/base/quantity.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

using Words = std::vector<std::pair<std::string, std::string>>;

/// Returns the axes in which runs can differ, in the order of the options.
Words axes_of(const Plan& plan) {
  const Config& c = plan.config;
  return {{"index", c.index.str()},
          {"sync", c.sync.str()},
          {"threads", fmt::format("{}", c.threads)},
          {"pin", c.pin.text},
          {"alloc", plan.own_memory.empty() ? std::string(word(c.alloc)) : "-"},
          {"hugepages", std::string(word(c.huge_pages))},
          {"workload", c.workload.str()},
          {"keys", c.keys.str()},
          {"dist", plan.no_distribution.empty() ? c.distribution.str() : "-"},
          {"churn", plan.no_churn.empty() ? c.churn.str() : "-"},
          {"negative", fmt::format("{}", c.negative)},
          {"batch", batch_text(c.batch)},
          {"value-size", fmt::format("{}", c.value_size)},
          {"near", c.near == 0 ? "-" : count_text(c.near)},
          {"far", c.far ? c.far->str() : "-"},
          {"rule", c.far ? c.placement_rule().str() : "-"},
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
          {"reclaim", plan.no_reclaim.empty() ? std::string(word(c.reclaim)) : "-"},
          {"wait", plan.no_wait.empty() ? std::string(word(c.wait)) : "-"},
          {"slice-extension", std::string(word(plan.config.slice_extension))},
          {"threads-per", std::string(word(c.threads_per))},
          {"mem", c.mem.text},
          {"clear-accessed", c.clear_accessed_ns == 0 ? "off" : duration_text(c.clear_accessed_ns)},
          {"smt", c.pin.kind == Pin::Kind::kList ? "-" : std::string(word(c.smt))},
          {"replicate", fmt::format("{}", c.replicate)}};
}

// The axes index to dist are shown even if all runs agree in them, and so are the memories of values, since a number
// must not stand without the name of a modelled medium. The others are shown only if runs differ.
constexpr std::size_t kCommonAxes = 9, kFirstOfMemories = 13, kMemories = 3;

/// Returns the number as text(number), or "-" if it is missing.
std::string cell(const OrReason<double>& number, const auto& text) { return number ? text(*number) : std::string("-"); }

std::string aborts_cell(const TrialResult& trial) {
  if (!trial.sync.aborts || !trial.throughput || trial.throughput->operations == 0) return "-";
  return fmt::format(
      "{:.3g}", static_cast<double>(total_of(*trial.sync.aborts)) / static_cast<double>(trial.throughput->operations));
}

}  // namespace

std::optional<double> grown_by_warmup(const Config& config, const TrialResult& trial) {
  const OrReason<u64>& keys = trial.memory.keys_at_start;
  if (!keys || !trial.throughput || config.workload.name == "insert" || config.records == 0) return std::nullopt;
  const double times = static_cast<double>(*keys) / static_cast<double>(config.records);
  return std::abs(times - 1) < 0.01 ? std::nullopt : std::optional(times);
}

std::string speeds_text(const TwoMemories& m) {
  const auto gbps = [](const OrReason<double>& value) { return number_text(value, 1); };
  return fmt::format("{}{} ns, {} GB/s read, {} written   near {} ns, {} read, {} written",
                     m.medium == "modelled" ? "modelled, as measured: " : "", number_text(m.latency_ns, 0),
                     gbps(m.read_gbps), gbps(m.write_gbps), number_text(m.near_latency_ns, 0), gbps(m.near_read_gbps),
                     gbps(m.near_write_gbps));
}

std::string_view loaded_by(const Config& config) {
  return Workload::by_file(config.workload.name) ? "the file's records" : "--records";
}

std::vector<std::string> notes_of(const TrialResult& trial) {
  std::vector<std::string> notes = trial.health.notes;
  if (const auto& file = trial.key_file; file && file->empty + file->repeated > 0) {
    notes.insert(notes.begin(), fmt::format("of the key file's {} lines {} are empty and {} repeat earlier ones",
                                            grouped(file->lines), grouped(file->empty), grouped(file->repeated)));
  }
  return notes;
}

RunTable::RunTable(const std::vector<Plan>& runs) {
  std::vector<std::set<std::string>> values;
  std::vector<std::size_t> widths;
  for (const Plan& run : runs) {
    const Words words = axes_of(run);
    values.resize(words.size());
    widths.resize(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      values[i].insert(words[i].second);
      widths[i] = std::max({widths[i], words[i].first.size(), words[i].second.size()});
    }
  }
  if (runs.empty()) return;
  const Words words = axes_of(runs.front());
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i >= kCommonAxes) values[i].erase("-");  // a run on which an option has no effect does not differ in it
    if (values[i].size() > 1) {
      axes_.emplace_back(words[i].first, widths[i]);
    } else {
      axes_.emplace_back("", 0);
      const bool names_memory = i - kFirstOfMemories < kMemories && !values[i].empty();  // it is not "-"
      if (i < kCommonAxes || names_memory) {
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
  return text + fmt::format("{:>9}  {:>6}  {:>10}  {:>6}  {:>9}  {:>9}  {:>11}  {:>5}  {:>5}  {}\n", "Mops/s", "lines",
                            "% of limit", "% loop", "fallbacks", "aborts/op", "restarts/op", "B/key", "pages",
                            "status");
}

std::string RunTable::row(const RunResult& result) {
  const Config& config = result.plan.config;
  const TrialResult& trial = result.trial;
  ++rows_;
  for (const std::string& note : notes_of(trial)) add_note(note);
  if (trial.memory.far) add_note(fmt::format("{}: {}", trial.memory.far->words, speeds_text(*trial.memory.far)));
  std::string text;
  const Words words = axes_of(result.plan);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].second != 0) text += fmt::format("{:<{}}  ", words[i].second, axes_[i].second);
  }
  const auto digits = [](const char* form) {
    return [form](double number) { return fmt::format(fmt::runtime(form), number); };
  };
  const auto in_hundred = [](double share) {
    return fmt::format(fmt::runtime(share < .01 ? "{:.1g}" : "{:.0f}"), 100 * share);
  };
  text += fmt::format("{:>9}  {:>6}  {:>10}  {:>6}  {:>9}  {:>9}  {:>11}  {:>5}  {:>5}  {}",
                      trial.throughput ? fmt::format("{:.3f}", trial.throughput->per_second / 1e6) : "-",
                      cell(trial.limits.chase_ratio, digits("{:.1f}")),
                      cell(trial.limits.independent_ratio, [&](double lines) { return in_hundred(1 / lines); }),
                      cell(trial.limits.loop_share, in_hundred), cell(trial.sync.fallback_rate, percent),
                      aborts_cell(trial), cell(trial.sync.restart_rate, digits("{:.2g}")),
                      cell(trial.memory.bytes_per_key, digits("{:.1f}")), page_text(trial.memory.page_bytes),
                      word(trial.status));
  if (trial.interrupted) text += ", interrupted";
  const std::optional<Ending> ended_by = trial.throughput ? std::optional(trial.throughput->ended_by) : std::nullopt;
  // The next three cases leave the index with another size than its records.
  if (config.workload.name == "insert" && ended_by == Ending::kTime) text += ", ended by --time";
  if (ended_by == Ending::kFull) text += fmt::format(", full at {} keys", number_text(trial.memory.keys, 0));
  if (const auto times = grown_by_warmup(config, trial))
    text += fmt::format(", began with {:.3g} x {}", *times, loaded_by(config));
  if (trial.status != Status::kOk) {
    const auto known = std::ranges::find(reasons_, trial.reason);
    const auto index = known - reasons_.begin();
    if (known == reasons_.end()) reasons_.push_back(trial.reason);
    text += fmt::format(" [{}]", index + 1);
  }
  if (trial.slo) text += found_text(*config.slo, *trial.slo);
  if (trial.latency && trial.latency->response) text += response_text(*trial.latency->response);
  return text + '\n';
}

/// Adds the note to an earlier one that differs only in its numbers, as the load average does from run to run, if any.
void RunTable::add_note(const std::string& text) {
  std::string form = text;
  std::erase_if(form, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == ','; });
  auto known = std::ranges::find(notes_, form, &Note::form);
  if (known == notes_.end())
    known = notes_.insert(notes_.end(), {.form = form, .text = text, .rows = {}, .same = true});
  known->rows.push_back(rows_);
  known->same &= known->text == text;
}

std::string RunTable::footer() const {
  std::string text =
      "\nlines: the time of an operation, in dependent cache lines\n"
      "% of limit: the time of an independent cache line / the time of an operation\n"
      "% loop: the time of an operation if the index does nothing / the time of an operation\n";
  for (std::size_t i = 0; i < reasons_.size(); ++i) text += fmt::format("[{}] {}\n", i + 1, reasons_[i]);
  for (const Note& note : notes_) {
    const std::string rows =
        note.rows.size() == rows_ ? "all rows" : (note.rows.size() == 1 ? "row " : "rows ") + fold_numbers(note.rows);
    text +=
        fmt::format("{}: {}{}\n", rows, note.text,
                    note.same ? "" : fmt::format(" (row {}; the other rows have other numbers)", note.rows.front()));
  }
  return text;
}

}  // namespace latchlab
