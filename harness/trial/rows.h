// The measured phase in rows, which add up to it. They end where nothing runs, so that what the threads have counted
// can be read:
//
//   one for each phase of a workload's file (workloads/phases_file.h), where nobody asks for others: exactly its
//   operations, since threads wait for each other at its end
//   of so many operations each (`--rows`, also of such a file), as Wiscer's "batches" of a million: a row ends with the
//   round in which it is full (rounds.h), so it has up to a round more than it should (8,192 operations a thread), as
//   it says
//
// The nodes that lookups visit are counted on the way to the keys that one thread has looked up just before, again,
// between two rounds and in no time of any row: so few that they leave the caches nearly as they were. An index that
// learns (vip) has learned from those lookups: its rows say less than the next lookups take, which the result as a
// whole says.
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

  /// Rows of `every` operations, 1 or more, or of a section of the stream each, which have these names. All that is
  /// referred to must outlive this. `count_nodes`: that the reads among some requests visit. While no phase runs.
  RowCutter(u64 every, std::vector<std::string> sections, const Phases& phases, const std::vector<PmuEvent>& events,
            CountNodes count_nodes);

  /// Ends a row of so many operations if it is full. Between two rounds.
  void look(const Worker& worker);
  /// Ends that of a section. Between it and the next.
  void end_section(std::size_t section);

  /// Ends the last one, if anything is in it, and returns them all. When the phase is over, while its events are open.
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
  u64 operations_ = 0;  // in the rows so far
  double seconds_ = 0;
  std::vector<u64> done_;                       // by the end of the last row, of each thread
  std::vector<std::vector<PmuCount>> counted_;  // by the end of the last row, of each thread, of each event
  std::vector<ResultRow> rows_;
};

}  // namespace latchlab
