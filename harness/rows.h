// The measured phase in rows: of so many operations (`--rows`), as Wiscer's "batches" of a million, or one for each phase of a
// file (workloads/phases_file.h). A row ends with the round in which it is full (rounds.h): then nothing runs, and what the
// threads have counted can be read. So a row has up to a round more than it should (8,192 operations a thread), which its
// `operations` say, and rows add up to the whole.
//
// The nodes that lookups visit are counted on the way to the keys that one thread has looked up just before, again, between two
// rounds and in no time of any row: so few that they leave the caches nearly as they were.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/phases.h"
#include "harness/pmu_events.h"
#include "harness/result.h"
#include "src/base/types.h"

namespace latchlab {

class RowCutter {
 public:
  using CountNodes = std::function<Measured<double>(const Slice&)>;

  /// Where a row ends, in operations since the first; and its name, where it has one.
  struct End {
    u64 operations;
    std::string name;
  };

  /// Rows with these ends, in order, or else of `every` operations, 1 or more. All that is referred to must outlive this. `count_nodes`: that the reads among some
  /// steps visit.
  RowCutter(u64 every, std::vector<End> ends, const Phases& phases, const std::vector<PmuEvent>& events, CountNodes count_nodes)
      : every_(every), ends_(std::move(ends)), phases_(phases), events_(events), count_nodes_(std::move(count_nodes)) {}

  /// Ends a row if it is full. Between two rounds.
  void look(const Worker& worker);

  /// Ends the last one, if anything is in it, and returns them all. When the phase is over, while its events are open.
  [[nodiscard]] Rows finish();

 private:
  void cut(const Worker& worker);
  [[nodiscard]] End next() const;

  const u64 every_;
  const std::vector<End> ends_;
  const Phases& phases_;
  const std::vector<PmuEvent>& events_;
  const CountNodes count_nodes_;
  u64 operations_ = 0;   // in the rows so far
  double seconds_ = 0;
  std::vector<double> counted_;   // of each event
  Rows rows_;
};

/// What `harness rows` prints: a result's rows in Wiscer's columns, `-` for what was not measured. "-" is standard input. Throws
/// InputError for what is no result, or has no rows.
[[nodiscard]] std::string rows_text(const std::string& path);

}  // namespace latchlab
