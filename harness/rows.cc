#include "harness/rows.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "harness/document.h"
#include "harness/pmu_account.h"
#include "src/base/error.h"

namespace latchlab {

/// Of the row that is open.
RowCutter::End RowCutter::next() const {
  const std::size_t row = rows_.rows.size();
  if (row < ends_.size()) return ends_[row];
  return {.operations = ends_.empty() ? operations_ + every_ : ~u64{0}, .name = ends_.empty() ? "" : "the rest"};
}

void RowCutter::look(const Worker& worker) {
  if (phases_.meter().operations() >= next().operations) cut(worker);
}

Rows RowCutter::finish() {
  if (phases_.meter().operations() > operations_) cut(phases_.workers().front());
  return std::move(rows_);
}

void RowCutter::cut(const Worker& worker) {
  const u64 operations = phases_.meter().operations();
  const double seconds = phases_.rounds().seconds();
  Rows::Row row{.name = next().name,
                .operations = operations - std::exchange(operations_, operations),
                .seconds = seconds - std::exchange(seconds_, seconds),
                .nodes_per_fetch = count_nodes_(worker.steps.ran()),
                .events = {}};
  std::vector<std::vector<PmuCount>> threads;
  for (const Worker& one : phases_.workers()) {
    if (one.pmu) threads.push_back(one.pmu->counts());
  }
  counted_.resize(events_.size());
  const PmuResult all = pmu_account(events_, threads, {}, operations);
  for (std::size_t i = 0; i < events_.size() && !threads.empty(); ++i) {
    const PmuResult::Event& event = all.events[i];
    if (events_[i].of_packages || !event.total) continue;   // why not stands in the result's own account
    // Scaled counts of events that take turns may go back a little.
    row.events.emplace_back(fmt::format("{}.{}", event.family, event.name),
                            std::max(0.0, event.total->scaled - std::exchange(counted_[i], event.total->scaled)));
  }
  rows_.rows.push_back(std::move(row));
}

std::string rows_text(const std::string& path) {
  // L2 misses have no name that all processors share.
  constexpr std::array<std::string_view, 4> kEvents{"core.instructions", "cache.cache-misses", "", "cache.L1-dcache-load-misses"};
  std::string text = "Throughput | Retd. Instructions | L3 Misses | L2 Misses | L1 Misses | Displacement\n";
  for (const Json& result : read_results("rows", path)) {
    if (!result.contains("rows") || result["rows"].is_null()) {
      throw InputError(fmt::format("rows: '{}' has no rows: {}", path, result.value("rows_reason", "an older result")));
    }
    for (const Json& row : result["rows"]) {
      text += fmt::format("{:.0f}", row["operations"].get<double>() / row["seconds"].get<double>());
      for (const std::string_view event : kEvents) {
        const auto counted = row["events"].find(std::string(event));
        text += counted == row["events"].end() ? " | -" : fmt::format(" | {:.0f}", counted->get<double>());
      }
      const Json& nodes = row["nodes_per_fetch"];
      text += nodes.is_null() ? " | -\n" : fmt::format(" | {:.4f}\n", nodes.get<double>());
    }
  }
  return text;
}

}  // namespace latchlab
