// Cuts the measured phase into rows, which add up to it. A row ends where no thread runs requests, so that the threads'
// counts can be read. There are two ways to cut:
//
//   1. One row for each phase of a workload's file (workloads/phases_file.h), the default for such a file. A row has
//      exactly the phase's operations, since threads wait for each other at its end.
//   2. Rows of N operations (--rows=N, for any workload), like Wiscer's "batches" of a million. A row ends with the
//      round in which it is full (rounds.h). So it may have up to a round more (8,192 operations a thread); it says how
//      many it has.
//
// The nodes that a lookup visits are counted between two rounds, outside the time of any row, by repeating the last
// lookups of one thread. They are so few that the caches stay nearly as they were. An index that learns (vip) has
// learned from those lookups already, so its rows show fewer nodes than the next lookups visit. The result as a whole
// shows the latter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/host/pmu_events.h"
#include "harness/result/result.h"
#include "harness/trial/phases.h"
#include "src/base/types.h"

namespace latchlab {

class RowCutter {
 public:
  using CountNodes = std::function<OrReason<double>(const Slice&)>;

  /// Cuts rows of `every` operations, or, if that is 0, one for each section of the stream, with these names.
  /// `count_nodes` counts the nodes that the reads among some requests visit. All arguments must outlive this. Call it
  /// while no phase runs.
  RowCutter(u64 every, std::vector<std::string> sections, const Phases& phases, const std::vector<PmuEvent>& events,
            CountNodes count_nodes);

  /// Ends a row of N operations if it is full. Call it between two rounds.
  void look(const Worker& worker);
  /// Ends the row of a section. Call it between the section and the next.
  void end_section(std::size_t section);

  /// Ends the last row if it has an operation, and returns all rows. Call it when the phase is over, while its events
  /// are open.
  [[nodiscard]] std::vector<ResultRow> finish();

 private:
  void cut(const std::string& name, const Slice& ran);
  [[nodiscard]] Slice ran() const;
  [[nodiscard]] std::vector<std::vector<PmuCount>> counted();

  const u64 every_;
  const std::vector<std::string> sections_;
  const Phases& phases_;
  const std::vector<PmuEvent>& events_;
  const CountNodes count_nodes_;
  u64 operations_ = 0;  // operations in the rows so far
  double seconds_ = 0;
  std::vector<u64> done_;                       // operations of each thread by the end of the last row
  std::vector<std::vector<PmuCount>> counted_;  // counts of each thread and event by the end of the last row
  std::vector<ResultRow> rows_;
};

}  // namespace latchlab
