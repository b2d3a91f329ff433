#pragma once

// Results for people, on a terminal: a block for a single run, or a table with a row for each of several runs. Rows are
// printed as runs end, so column widths come from the plan and not from the results. A run whose status is not ok has a
// mark in its row. The reasons behind marks, and notes, are printed once below the table.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/config/commands.h"
#include "harness/result/report.h"

namespace latchlab {

/// Returns the main facts of one run: several lines, the last ending in a newline (block.cc).
[[nodiscard]] std::string block_of(const RunResult& result);

class RunTable {
 public:
  /// Makes the axes in which `runs` differ the leading columns.
  explicit RunTable(const std::vector<Plan>& runs);

  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string row(const RunResult& result);

  /// Returns the reasons behind the marks, and each note with the numbers of its rows, counted from 1.
  [[nodiscard]] std::string footer() const;

 private:
  struct Note {
    std::string form;  // the text without numbers
    std::string text;  // the text of the first row
    std::vector<u32> rows;
    bool same = true;  // all rows have this text
  };
  void add_note(const std::string& text);

  std::vector<std::pair<std::string, std::size_t>> axes_;  ///< name, width
  std::string common_;                                     ///< the axes that are shown although all runs agree
  std::vector<std::string> reasons_;
  u32 rows_ = 0;  ///< number of rows so far
  std::vector<Note> notes_;
};

/// Returns the facts that a reader of a result should know beside its numbers, a line each.
[[nodiscard]] std::vector<std::string> notes_of(const TrialResult& trial);

/// Returns how fast far memory is, and near memory, for people. It says if the medium is modelled.
[[nodiscard]] std::string speeds_text(const TwoMemories& memories);

/// Returns the number of keys at the start of the measured phase, as a multiple of the records, if it is not about 1.
/// The warm-up runs the same operations, so it may grow or shrink the index.
[[nodiscard]] std::optional<double> grown_by_warmup(const Config& config, const TrialResult& trial);

/// Returns the name of the setting that determines how many keys are loaded.
[[nodiscard]] std::string_view loaded_by(const Config& config);

}  // namespace latchlab
