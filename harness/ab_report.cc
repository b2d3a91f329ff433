// What a comparison says: a table for people, and the document that ab.schema.json describes.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/ab.h"
#include "harness/table.h"

namespace latchlab {

namespace {

std::map<std::string, u32> statuses_of(const VariantSummary& variant) {
  std::map<std::string, u32> statuses;
  for (const Replicate& replicate : variant.replicates) ++statuses[replicate.status];
  return statuses;
}

std::string statuses_text(const VariantSummary& variant) {
  std::vector<std::string> parts;
  for (const auto& [status, count] : statuses_of(variant)) {
    parts.push_back(fmt::format("{} {}", count, status));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Reasons of all replicates that are not ok, each once, and whether some ended since the index was full.
std::vector<std::string> reasons_of(const VariantSummary& variant) {
  std::vector<std::string> reasons;
  const auto add = [&](std::string text) {
    if (std::find(reasons.begin(), reasons.end(), text) == reasons.end()) reasons.push_back(std::move(text));
  };
  for (const Replicate& replicate : variant.replicates) {
    if (replicate.status != "ok" && !replicate.reason.empty()) add(replicate.status + ": " + replicate.reason);
    const Json::json_pointer ended("/throughput/ended_by");
    if (replicate.document.contains(ended) && replicate.document[ended] == "full") add("full: its runs ended with no more room");
  }
  return reasons;
}

/// A column of the table, as wide as the widest of its cells.
struct Column {
  std::string name;
  std::vector<std::string> cells;
  bool to_the_right = true;
};

/// `text` of the figure of each variant, and "-" where there is none.
template <class T, class Text>
Column column(const Comparison& comparison, const char* name, Measured<T> VariantSummary::*figure,
              Text&& text) {
  Column out{.name = name, .cells = {}};
  for (const VariantSummary& v : comparison.variants) {
    out.cells.push_back(v.*figure ? text(*(v.*figure)) : std::string("-"));
  }
  return out;
}

bool says_anything(const Column& column) {
  return std::any_of(column.cells.begin(), column.cells.end(), [](const auto& cell) { return cell != "-"; });
}

std::vector<Column> columns_of(const Comparison& comparison) {
  const auto mops = [](double rate) { return fmt::format("{:.3f}", rate / 1e6); };
  const auto three = [](double value) { return fmt::format("{:.3f}", value); };
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
      column(comparison, "ratio", &V::ratio, three),
      column(comparison, "95 %", &V::interval,
             [&](const Interval& i) { return three(i.low) + " .. " + three(i.high); }),
      column(comparison, "B/key", &V::bytes_per_key,
             [](double bytes) { return fmt::format("{:.1f}", bytes); }),
      column(comparison, "pages", &V::page_bytes,
             [](double bytes) { return page_text(static_cast<u64>(bytes)); })};
  // Only a comparison with elision in it has these.
  for (Column& of_elision :
       std::vector{column(comparison, "commits/begin", &V::commits_per_begin,
                          [](double share) { return fmt::format("{:.4f}", share); }),
                   column(comparison, "fallbacks", &V::fallback_rate, percent),
                   column(comparison, "zero/op", &V::zero_aborts_per_operation,
                          [](double rate) { return fmt::format("{:.2g}", rate); })}) {
    if (says_anything(of_elision)) columns.push_back(std::move(of_elision));
  }
  columns.push_back(words("runs", statuses_text));
  columns.push_back(words("verdict", [](const V& v) { return v.verdict; }));
  return columns;
}

std::string line_of(const std::vector<Column>& columns, const std::vector<std::size_t>& widths,
                    const auto& cell_of) {
  std::string text;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& cell = cell_of(columns[i]);
    text += columns[i].to_the_right ? fmt::format("{:>{}}  ", cell, widths[i])
                                    : fmt::format("{:<{}}  ", cell, widths[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

/// "interval": [low, high]
void put_interval(Json& object, const std::string& key, const Measured<Interval>& interval) {
  if (!interval) return put_missing(object, key, interval.reason);
  object[key] = {interval->low, interval->high};
}

Json json_of(const Replicate& r) {
  Json o;
  o["status"] = r.status;
  o["reason"] = r.reason;
  r.per_second ? void(o["per_second"] = *r.per_second)
               : put_missing(o, "per_second", "a run that is " + r.status + " does not count");
  r.document.is_null() ? put_missing(o, "document", r.reason) : void(o["document"] = r.document);
  return o;
}

Json json_of(const VariantSummary& v) {
  Json o;
  o["name"] = v.name;
  o["command"] = v.command;
  o["verdict"] = v.verdict;
  o["withheld"] = v.withheld;
  put(o, "median_per_second", v.median);
  put_interval(o, "quartiles", v.quartiles);
  put(o, "ratio", v.ratio);
  put_interval(o, "interval", v.interval);
  put(o, "bytes_per_key", v.bytes_per_key);
  put(o, "page_bytes", v.page_bytes);
  put(o, "commits_per_begin", v.commits_per_begin);
  put(o, "fallback_rate", v.fallback_rate);
  put(o, "zero_aborts_per_operation", v.zero_aborts_per_operation);
  o["statuses"] = statuses_of(v);
  o["reasons"] = reasons_of(v);
  o["replicates"] = Json::array();
  for (const Replicate& r : v.replicates) o["replicates"].push_back(json_of(r));
  return o;
}

}  // namespace

std::string table_of(const Comparison& comparison) {
  const std::size_t blocks = comparison.orders.size();
  std::string text =
      fmt::format("{} block{}, variants in random order within each (seed {}){}\n", blocks,
                  blocks == 1 ? "" : "s", comparison.seed, comparison.interrupted ? "; interrupted" : "");
  if (!comparison.common.empty()) text += fmt::format("all with {}\n", comparison.common);
  text += '\n';
  // Commands are as long as they like, so they are not part of the table.
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

  std::string notes;
  for (const VariantSummary& v : comparison.variants) {
    if (!v.withheld.empty()) notes += fmt::format("{}  withheld: {}\n", v.name, v.withheld);
    for (const std::string& reason : reasons_of(v)) notes += fmt::format("{}  {}\n", v.name, reason);
  }
  return notes.empty() ? text : text + '\n' + notes;
}

Json json_of(const Comparison& comparison) {
  Json o;
  o["schema_version"] = RunResult::kSchemaVersion;
  o["seed"] = comparison.seed;
  o["common"] = comparison.common;
  o["planned_blocks"] = comparison.planned_blocks;
  o["interrupted"] = comparison.interrupted;
  o["orders"] = Json::array();
  for (const auto& order : comparison.orders) {
    Json names = Json::array();
    for (const u32 which : order) names.push_back(comparison.variants[which].name);
    o["orders"].push_back(std::move(names));
  }
  o["variants"] = Json::array();
  for (const VariantSummary& v : comparison.variants) o["variants"].push_back(json_of(v));
  return o;
}

}  // namespace latchlab
