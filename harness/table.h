#pragma once

// Results for people, on a terminal: a block for a single run, a line a run for several. Rows are printed as
// runs end, so column widths come from the plan and not from the results. What is not ok is marked in its
// line and explained once below.

#include <string>
#include <utility>
#include <vector>

#include "harness/cli.h"
#include "harness/result.h"

namespace latchlab {

/// Everything about one run that a reader wants to see at once; several lines, ending in a newline.
[[nodiscard]] std::string block_of(const RunResult& result);

class RunTable {
 public:
  /// Leading columns are the axes in which `runs` differ.
  explicit RunTable(const std::vector<PlannedRun>& runs);

  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string row(const RunResult& result);

  /// The reasons behind the marks; empty if there are none.
  [[nodiscard]] std::string footer() const;

 private:
  std::vector<std::pair<std::string, std::size_t>> axes_;  ///< name, width
  std::string common_;  ///< the axes in which all runs agree, if it matters
  std::vector<std::string> reasons_;
};

/// "4K", "2M", or "?" where nobody looked.
[[nodiscard]] std::string page_text(const Measured<u64>& page_bytes);

/// "99.8 %"; rates of a few per million do not look like none.
[[nodiscard]] std::string percent(double share);

/// "16,000,000"
[[nodiscard]] std::string grouped(u64 value);

/// Three digits, or all of a number that has more before the point: "0.0125", "12,345".
[[nodiscard]] std::string three_digits(double value);

}  // namespace latchlab
