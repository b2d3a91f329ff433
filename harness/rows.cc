#include "harness/rows.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/document.h"
#include "harness/pmu_account.h"
#include "harness/pmu_events.h"
#include "harness/pmu_groups.h"
#include "src/base/error.h"

namespace latchlab {

RowCutter::RowCutter(u64 every, std::vector<std::string> sections, const Phases& phases, const std::vector<PmuEvent>& events,
                     CountNodes count_nodes)
    : every_(every), sections_(std::move(sections)), phases_(phases), events_(events), count_nodes_(std::move(count_nodes)) {
  for (const Worker& worker : phases.workers()) done_.push_back(worker.tally.operations());
}

void RowCutter::look(const Worker& worker) {
  if (every_ != 0 && phases_.meter().operations() - operations_ >= every_) cut("", worker.steps.ran());
}

void RowCutter::end_section(std::size_t section) {
  if (!sections_.empty() && phases_.meter().operations() > operations_) cut(sections_[section], ran());
}

Rows RowCutter::finish() {
  if (phases_.meter().operations() > operations_) cut(sections_.empty() ? "" : sections_[phases_.section()], ran());
  return std::move(rows_);
}

/// What one thread ran last. Of a thread that did nothing in this row that is of a row before, or of the warm-up.
Slice RowCutter::ran() const {
  for (std::size_t t = 0; t < done_.size(); ++t) {
    const Worker& worker = phases_.workers()[t];
    if (worker.tally.operations() == done_[t]) continue;
    if (const Slice ran = worker.steps.ran(); ran.count != 0) return ran;
  }
  return {};
}

/// Of each thread what its events counted since the last row.
std::vector<std::vector<PmuCount>> RowCutter::counted() {
  std::vector<std::vector<PmuCount>> row;
  counted_.resize(phases_.workers().size());
  for (std::size_t t = 0; t < counted_.size(); ++t) {
    const Worker& worker = phases_.workers()[t];
    if (!worker.pmu) continue;
    std::vector<PmuCount> now = worker.pmu->counts();
    row.push_back(counted_since(counted_[t], now));
    counted_[t] = std::move(now);
  }
  return row;
}

void RowCutter::cut(const std::string& name, const Slice& ran) {
  const u64 operations = phases_.meter().operations();
  const double seconds = phases_.rounds().seconds();
  Rows::Row row{.name = name,
                .operations = operations - std::exchange(operations_, operations),
                .seconds = seconds - std::exchange(seconds_, seconds),
                .nodes_per_fetch = count_nodes_(ran),
                .events = {}};
  for (const PmuResult::Event& event : pmu_account(events_, counted(), {}, row.operations).events) {
    if (event.total) row.events.emplace_back(fmt::format("{}.{}", event.family, event.name), event.total->scaled);
  }
  rows_.rows.push_back(std::move(row));
  for (std::size_t t = 0; t < done_.size(); ++t) done_[t] = phases_.workers()[t].tally.operations();
}

namespace {

/// A column of Wiscer's that the processor counts.
struct Column {
  std::string_view title, family, event;
};
constexpr Column kCounted[] = {{"Retd. Instructions", "core", "instructions"},
                               {"L3 Misses", "cache", "cache-misses"},
                               {"L2 Misses", "l2", "L2-misses"},
                               {"L1 Misses", "cache", "L1-dcache-load-misses"}};
constexpr std::string_view kDisplacement = "Displacement";

/// Returns why a result has no count of this column, or not in each of its rows.
std::string why_not_counted(const Json& result, const Column& column) {
  const std::vector<std::string> names = pmu_names(column.family, column.event);
  const Json::json_pointer events("/pmu/events");
  const Json asked_for = result.contains(events) ? result[events] : Json::array();
  for (const Json& event : asked_for) {
    if (std::ranges::count(names, text_at(event, "/family") + '.' + text_at(event, "/name")) == 0) continue;
    const std::string why = text_at(event, "/count_reason");
    return why.empty() ? "not counted in every row" : why;
  }
  const std::string why = text_at(result, "/pmu_reason");
  return why.empty() ? "not asked for; --pmu=core,cache,l2 counts all columns" : why;
}

/// Why there are dashes in which columns, a line for each reason.
class Dashes {
 public:
  /// Adds a dash. `why`: empty where nobody says.
  std::string operator()(std::string_view title, std::string why) {
    if (why.empty()) why = "the result does not say why";
    auto known = std::ranges::find(reasons_, why, &Reason::why);
    if (known == reasons_.end()) known = reasons_.insert(reasons_.end(), {.why = std::move(why), .titles = {}});
    if (std::ranges::count(known->titles, title) == 0) known->titles.push_back(title);
    return "-";
  }

  /// Empty without dashes.
  [[nodiscard]] std::string footer() const {
    std::string text = reasons_.empty() ? "" : "\n";
    for (const Reason& reason : reasons_) text += fmt::format("{}: {}\n", fmt::join(reason.titles, ", "), reason.why);
    return text;
  }

 private:
  struct Reason {
    std::string why;
    std::vector<std::string_view> titles;
  };
  std::vector<Reason> reasons_;
};

/// What a row counted under the first of these names that it has.
std::optional<double> counted_as(const Json& row, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto count = number_at(row, "/events/" + name)) return count;
  }
  return std::nullopt;
}

}  // namespace

std::string rows_text(const std::string& path) {
  const std::vector<Json> results = read_results("rows", path);
  const bool named = std::ranges::any_of(results, [](const Json& result) { return !text_at(result, "/rows/0/phase").empty(); });
  std::string text = "Throughput";
  for (const Column& column : kCounted) text += fmt::format(" | {}", column.title);
  text += fmt::format(" | {}{}\n", kDisplacement, named ? " | Phase" : "");
  Dashes dashes;
  for (const Json& result : results) {
    const Json::json_pointer rows("/rows");
    if (!result.contains(rows) || !result[rows].is_array()) {
      const std::string why = text_at(result, "/rows_reason");
      throw InputError(fmt::format("rows: '{}' has no rows: {}", path, why.empty() ? "it does not say why" : why));
    }
    for (const Json& row : result[rows]) {
      const auto operations = number_at(row, "/operations"), seconds = number_at(row, "/seconds");
      if (!operations || !seconds || !(*seconds > 0)) {
        throw InputError(fmt::format("rows: '{}' has a row without operations and seconds: no result of harness", path));
      }
      text += fmt::format("{:.0f}", *operations / *seconds);
      for (const Column& column : kCounted) {
        const auto count = counted_as(row, pmu_names(column.family, column.event));
        text += " | " + (count ? fmt::format("{:.0f}", *count) : dashes(column.title, why_not_counted(result, column)));
      }
      const auto nodes = number_at(row, "/nodes_per_fetch");
      const std::string name = text_at(row, "/phase");
      text += " | " + (nodes ? fmt::format("{:.4f}", *nodes) : dashes(kDisplacement, text_at(row, "/nodes_per_fetch_reason")));
      text += !named ? "\n" : fmt::format(" | {}\n", name.empty() ? "-" : name);
    }
  }
  return text + dashes.footer();
}

}  // namespace latchlab
