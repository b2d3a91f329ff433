#pragma once

// Results for people, on a terminal: a block for a single run, a line a run for several. Rows are printed as
// runs end, so column widths come from the plan and not from the results. What is not ok is marked in its
// line and explained once below, and so is what else a reader should know.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/config/commands.h"
#include "harness/result/report.h"

namespace latchlab {

/// Everything about one run that a reader wants to see at once; several lines, ending in a newline (block.cc).
[[nodiscard]] std::string block_of(const RunResult& result);

class RunTable {
 public:
  /// Leading columns are the axes in which `runs` differ.
  explicit RunTable(const std::vector<Plan>& runs);

  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string row(const RunResult& result);

  /// The reasons behind the marks, and each note with the numbers of its rows, counted from 1.
  [[nodiscard]] std::string footer() const;

 private:
  struct Note {
    std::string form;  // its text without numbers
    std::string text;  // of its first row
    std::vector<u32> rows;
    bool same = true;  // the text of all of them
  };
  void add_note(const std::string& text);

  std::vector<std::pair<std::string, std::size_t>> axes_;  ///< name, width
  std::string common_;                                     ///< the axes in which all runs agree, if it matters
  std::vector<std::string> reasons_;
  u32 rows_ = 0;  ///< so far
  std::vector<Note> notes_;
};

/// What a reader of a result should know beside its numbers, a line each.
[[nodiscard]] std::vector<std::string> notes_of(const TrialResult& trial);

/// How many times the records were in the index as the measured phase began, if that is not about once: the
/// warm-up is of the same operations.
[[nodiscard]] std::optional<double> grown_by_warmup(const Config& config, const TrialResult& trial);

/// What says how many keys are loaded.
[[nodiscard]] std::string_view loaded_by(const Config& config);

}  // namespace latchlab
