#include "harness/trial/rows.h"

#include <utility>

#include <fmt/format.h>

#include "harness/host/pmu_events.h"
#include "harness/host/pmu_groups.h"
#include "harness/trial/pmu_account.h"

namespace latchlab {

RowCutter::RowCutter(u64 every, std::vector<std::string> sections, const Phases& phases,
                     const std::vector<PmuEvent>& events, CountNodes count_nodes)
    : every_(every),
      sections_(std::move(sections)),
      phases_(phases),
      events_(events),
      count_nodes_(std::move(count_nodes)) {
  for (const Worker& worker : phases.workers()) done_.push_back(worker.tally.operations());
}

void RowCutter::look(const Worker& worker) {
  if (every_ != 0 && phases_.meter().operations() - operations_ >= every_) cut("", worker.requests.ran());
}

void RowCutter::end_section(std::size_t section) {
  if (!sections_.empty() && phases_.meter().operations() > operations_) cut(sections_[section], ran());
}

std::vector<ResultRow> RowCutter::finish() {
  if (phases_.meter().operations() > operations_) cut(sections_.empty() ? "" : sections_[phases_.section()], ran());
  return std::move(rows_);
}

/// Returns the requests that some thread ran last. Skips threads that did nothing in this row: their last requests are
/// of an earlier row or of the warm-up.
Slice RowCutter::ran() const {
  for (std::size_t t = 0; t < done_.size(); ++t) {
    const Worker& worker = phases_.workers()[t];
    if (worker.tally.operations() == done_[t]) continue;
    if (const Slice ran = worker.requests.ran(); ran.count != 0) return ran;
  }
  return {};
}

/// Returns each thread's counts of events since the last row.
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
  ResultRow row{.phase = name,
                .operations = operations - std::exchange(operations_, operations),
                .seconds = seconds - std::exchange(seconds_, seconds),
                .nodes_per_fetch = count_nodes_(ran),
                .events = {}};
  for (const PmuResult::Event& event : pmu_account(events_, counted(), {}, row.operations).events) {
    if (event.total) row.events.emplace_back(fmt::format("{}.{}", event.family, event.name), event.total->scaled);
  }
  rows_.push_back(std::move(row));
  for (std::size_t t = 0; t < done_.size(); ++t) done_[t] = phases_.workers()[t].tally.operations();
}

}  // namespace latchlab
