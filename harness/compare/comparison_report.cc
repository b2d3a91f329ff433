// The output of a comparison: a table for people, and the document that comparison.schema.json describes.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/compare/comparison.h"
#include "harness/config/commands.h"
#include "harness/config/numbers.h"
#include "harness/result/schema.h"
#include "harness/text/table.h"

namespace latchlab {

namespace {

bool has_verdict(const VariantSummary& v) { return v.contrast && v.withheld.empty() && v.verdict != "base"; }

}  // namespace

std::vector<std::pair<std::string, u32>> statuses_of(const VariantSummary& variant) {
  std::map<std::string, u32> statuses;
  for (const Replicate& replicate : variant.replicates) ++statuses[replicate.status];
  return {statuses.begin(), statuses.end()};
}

std::vector<std::string> reasons_of(const VariantSummary& variant) {
  std::vector<std::string> reasons;
  const auto add = [&](std::string text) {
    if (std::find(reasons.begin(), reasons.end(), text) == reasons.end()) reasons.push_back(std::move(text));
  };
  for (const Replicate& replicate : variant.replicates) {
    const bool flagged = replicate.status == "noisy";
    if (replicate.status != "ok" && !flagged && !replicate.reason.empty())
      add(replicate.status + ": " + replicate.reason);
    const Json::json_pointer ended("/throughput/ended_by");
    const bool full = replicate.document.contains(ended) && replicate.document[ended] == "full";
    if (full) add("full: runs ended early because the index was full");
  }
  return reasons;
}

OrReason<u64> more_replicates(const VariantSummary& v) {
  using Number = OrReason<u64>;
  if (!has_verdict(v) || is_decided(verdict_of(*v.contrast))) return Number::missing("the verdict is " + v.verdict);
  const double needed = needed_replicates(*v.contrast);
  if (needed <= kMostReplicates) return static_cast<u64>(needed) - v.contrast->replicates;
  return Number::missing(fmt::format("it would take {:.0f} replicates, and {} are allowed", needed, kMostReplicates));
}

std::vector<std::vector<std::string>> Comparison::named_orders() const {
  std::vector<std::vector<std::string>> named;
  for (const auto& order : orders) {
    std::vector<std::string>& names = named.emplace_back();
    for (const u32 which : order) names.push_back(variants[which].name);
  }
  return named;
}

namespace {

std::string statuses_text(const VariantSummary& variant) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : statuses_of(variant)) {
    parts.push_back(fmt::format("{} {}", count, status));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string three(double value) { return fmt::format("{:.3f}", value); }
std::string range(const Contrast& c) {
  return c.has_interval() ? three(c.interval.low) + " .. " + three(c.interval.high) : std::string("-");
}

/// Returns the verdict; without an answer, also how many more replicates to run.
std::string verdict_text(const VariantSummary& v) {
  if (!has_verdict(v) || is_decided(verdict_of(*v.contrast))) return v.verdict;
  const OrReason<u64> more = more_replicates(v);
  return v.verdict + ": " + (more ? fmt::format("run {} more", *more) : more.reason);
}

/// Lists the flagged replicates with their reasons, and shows the verdict without them if it is another one.
std::string flags_text(const VariantSummary& v) {
  constexpr u32 kShown = 5;  // the document lists all of them
  std::string text;
  u32 flagged = 0;
  for (std::size_t i = 0; i < v.replicates.size(); ++i) {
    if (v.replicates[i].flags.empty() || ++flagged > kShown) continue;
    text += fmt::format("{}  replicate {} is flagged: {}\n", v.name, i, fmt::join(v.replicates[i].flags, "; "));
  }
  if (flagged > kShown) text += fmt::format("{}  and {} more are flagged: --json has them\n", v.name, flagged - kShown);
  if (!has_verdict(v) || !v.unflagged) return text;
  const Contrast& c = *v.unflagged;
  // Too few replicates may be left. The line says so only if all replicates together have an answer.
  if (verdict_word(c) == v.verdict || (c.too_few > 0 && !is_decided(verdict_of(*v.contrast)))) return text;
  return text + fmt::format("{}  without flagged replicates: {}: {}, 95 % {}, {} replicates\n", v.name, verdict_word(c),
                            three(c.ratio), range(c), c.replicates);
}

/// A column of the table. It is as wide as its widest cell.
struct Column {
  std::string name;
  std::vector<std::string> cells;
  bool to_the_right = true;
};

/// Makes a column with one figure of each variant, written by `text`; "-" stands for a missing figure.
template <class T, class Text>
Column column(const Comparison& comparison, const char* name, OrReason<T> VariantSummary::* figure, const Text& text) {
  Column out{.name = name, .cells = {}};
  for (const VariantSummary& v : comparison.variants) {
    out.cells.push_back(v.*figure ? text(*(v.*figure)) : std::string("-"));
  }
  return out;
}

bool has_figures(const Column& column) {
  return std::any_of(column.cells.begin(), column.cells.end(), [](const auto& cell) { return cell != "-"; });
}

std::vector<Column> columns_of(const Comparison& comparison) {
  const auto mops = [](double rate) { return fmt::format("{:.3f}", rate / 1e6); };
  const auto words = [&](const char* name, auto&& text) {
    Column out{.name = name, .cells = {}, .to_the_right = false};
    for (const VariantSummary& v : comparison.variants) out.cells.push_back(text(v));
    return out;
  };
  using V = VariantSummary;
  std::vector<Column> columns{
      words("", [](const V& v) { return v.name; }),
      column(comparison, "Mops/s", &V::median, mops),
      column(comparison, "quartiles", &V::quartiles,
             [&](const Interval& i) { return mops(i.low) + " .. " + mops(i.high); }),
      column(comparison, "ratio", &V::contrast, [&](const Contrast& c) { return three(c.ratio); }),
      column(comparison, "95 %", &V::contrast, range),
      column(comparison, "B/key", &V::bytes_per_key, [](double bytes) { return fmt::format("{:.1f}", bytes); }),
      column(comparison, "pages", &V::page_bytes, [](double bytes) { return page_text(static_cast<u64>(bytes)); })};
  if (Column response = column(comparison, "p99", &V::response_ns, [](double ns) { return short_duration(ns / 1e9); });
      has_figures(response)) {
    columns.insert(columns.begin() + 3, std::move(response));
  }
  // These columns appear only if a variant elides.
  for (Column& of_elision : std::vector{column(comparison, "commits/begin", &V::commits_per_begin,
                                               [](double share) { return fmt::format("{:.4f}", share); }),
                                        column(comparison, "fallbacks", &V::fallback_rate, percent),
                                        column(comparison, "zero/op", &V::zero_aborts_per_operation,
                                               [](double rate) { return fmt::format("{:.2g}", rate); })}) {
    if (has_figures(of_elision)) columns.push_back(std::move(of_elision));
  }
  columns.push_back(words("runs", statuses_text));
  columns.push_back(words("verdict", verdict_text));
  return columns;
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, const auto& cell_of) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = cell_of(columns[i]);
    text +=
        columns[i].to_the_right ? fmt::format("{:>{}}  ", cell, widths[i]) : fmt::format("{:<{}}  ", cell, widths[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

/// Returns the first line, which says how the replicates were measured.
std::string heading(const Comparison& comparison) {
  std::string text;
  if (comparison.orders.empty()) {
    text = comparison.paired() ? fmt::format("results of the same {0}s, compared {0} by {0}", comparison.paired_by)
                               : "results without common blocks";
    text += fmt::format(" (seed {})", comparison.seed);
  } else {
    const std::size_t blocks = comparison.orders.size();
    text = fmt::format("{} block{}, variants in random order within each (seed {})", blocks, blocks == 1 ? "" : "s",
                       comparison.seed);
  }
  if (comparison.effect > 0) text += fmt::format(", against an effect of {:g} %", comparison.effect * 100);
  if (!comparison.ended_by.empty()) text += "; " + comparison.ended_by;
  if (comparison.interrupted) text += "; interrupted";
  return text + '\n';
}

/// Returns the text of a comparison without its notes.
std::string figures_of(const Comparison& comparison) {
  std::string text = heading(comparison);
  if (!comparison.common.empty()) text += fmt::format("all with {}\n", comparison.common);
  text += '\n';
  // Commands can be long, so they stand above the table.
  for (const VariantSummary& v : comparison.variants) text += fmt::format("{}  {}\n", v.name, v.command);
  text += '\n';

  const std::vector<Column> columns = columns_of(comparison);
  std::vector<std::size_t> widths;
  for (const Column& c : columns) {
    std::size_t width = c.name.size();
    for (const std::string& cell : c.cells) width = std::max(width, cell.size());
    widths.push_back(width);
  }
  text += line_of(columns, widths, [](const Column& c) -> const std::string& { return c.name; });
  for (std::size_t i = 0; i < comparison.variants.size(); ++i) {
    text += line_of(columns, widths, [i](const Column& c) -> const std::string& { return c.cells[i]; });
  }
  return text;
}

/// Returns the lines below a table: `noted`, then the remarks on each variant.
std::string notes_of(const Comparison& comparison, const std::vector<std::string>& noted) {
  std::string notes;
  for (const std::string& note : noted) notes += note + '\n';
  for (const VariantSummary& v : comparison.variants) {
    if (!v.withheld.empty()) notes += fmt::format("{}  withheld: {}\n", v.name, v.withheld);
    for (const std::string& reason : reasons_of(v)) notes += fmt::format("{}  {}\n", v.name, reason);
    notes += flags_text(v);
  }
  return notes.empty() ? "" : '\n' + notes;
}

}  // namespace

std::string table_of(const Comparison& comparison) {
  return figures_of(comparison) + notes_of(comparison, comparison.notes);
}

std::string table_of(const std::vector<Comparison>& comparisons) {
  const auto in_all = [&](const std::string& note) {
    return std::ranges::all_of(comparisons,
                               [&](const Comparison& c) { return std::ranges::count(c.notes, note) != 0; });
  };
  std::string text;
  for (const Comparison& comparison : comparisons) {
    std::vector<std::string> own = comparison.notes;
    if (comparisons.size() > 1) std::erase_if(own, in_all);
    text += (text.empty() ? "" : "\n") + figures_of(comparison) + notes_of(comparison, own);
  }
  if (comparisons.size() < 2) return text;
  std::string common;
  for (const std::string& note : comparisons.front().notes) {
    if (in_all(note)) common += fmt::format("at all points: {}\n", note);
  }
  return common.empty() ? text : text + '\n' + common;
}

Json json_of(const Comparison& comparison) { return to_json(comparison); }

std::string comparison_schema() {
  return schema_text("comparison.schema.json", "Result of one comparison", schema_of<Comparison>());
}

}  // namespace latchlab
