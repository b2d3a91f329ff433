#include "harness/commands/rows_table.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/host/pmu_events.h"
#include "harness/result/document.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

/// A column of Wiscer's table that the processor counts.
struct WiscerColumn {
  std::string_view title, family, event;
};
constexpr WiscerColumn kCounted[] = {{"Retd. Instructions", "core", "instructions"},
                                     {"L3 Misses", "cache", "cache-misses"},
                                     {"L2 Misses", "l2", "L2-misses"},
                                     {"L1 Misses", "cache", "L1-dcache-load-misses"}};
constexpr std::string_view kDisplacement = "Displacement";

/// Returns why a result has no count of this column, or not in each of its rows.
std::string why_a_dash(const Json& result, const WiscerColumn& column) {
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

/// The reasons for dashes, and the columns that each reason applies to.
class Dashes {
 public:
  /// Returns a dash and notes its reason. An empty `why` is an unknown reason.
  std::string operator()(std::string_view title, std::string why) {
    if (why.empty()) why = "the result does not say why";
    auto known = std::ranges::find(reasons_, why, &Reason::why);
    if (known == reasons_.end()) known = reasons_.insert(reasons_.end(), {.why = std::move(why), .titles = {}});
    if (std::ranges::count(known->titles, title) == 0) known->titles.push_back(title);
    return "-";
  }

  /// Returns a line for each reason; empty if there are no dashes.
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

/// Returns a row's count under the first of these names that it has.
std::optional<double> counted_as(const Json& row, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const auto count = number_at(row, "/events/" + name)) return count;
  }
  return std::nullopt;
}

}  // namespace

std::string rows_text(const std::string& path) {
  const std::vector<Json> results = read_results("rows", path);
  const bool named =
      std::ranges::any_of(results, [](const Json& result) { return !text_at(result, "/rows/0/phase").empty(); });
  std::string text = "Throughput";
  for (const WiscerColumn& column : kCounted) text += fmt::format(" | {}", column.title);
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
        throw InputError(
            fmt::format("rows: '{}' has a row without operations and seconds: it is no result of harness", path));
      }
      text += fmt::format("{:.0f}", *operations / *seconds);
      for (const WiscerColumn& column : kCounted) {
        const auto count = counted_as(row, pmu_names(column.family, column.event));
        text += " | " + (count ? fmt::format("{:.0f}", *count) : dashes(column.title, why_a_dash(result, column)));
      }
      const auto nodes = number_at(row, "/nodes_per_fetch");
      const std::string name = text_at(row, "/phase");
      text += " | " +
              (nodes ? fmt::format("{:.4f}", *nodes) : dashes(kDisplacement, text_at(row, "/nodes_per_fetch_reason")));
      text += !named ? "\n" : fmt::format(" | {}\n", name.empty() ? "-" : name);
    }
  }
  return text + dashes.footer();
}

}  // namespace latchlab
