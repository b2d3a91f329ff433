#pragma once

// The tables of commands and options, from which help is written. An option that describes a run is an axis: it has an
// `apply` function, which writes one value of the axis into a Config. The others control the process.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace latchlab {

struct OptionEntry {
  std::string_view name;      ///< without the dashes
  std::string_view metavar;   ///< the name of its value in help and errors; empty for a flag
  std::string_view standard;  ///< its default, for help
  std::string_view meaning;   ///< its meaning in a few words; empty if help does not show it
  void (*apply)(Config&, const std::string& value);
  /// The words with which its value may begin, with blanks between, for completion; empty if `harness list` has them.
  std::string_view words = {};
};

/// One command as help shows it.
struct CommandEntry {
  std::string_view name;       ///< empty for a line that names none
  std::string_view arguments;  ///< the arguments after the name
  std::string_view meaning;    ///< in a few words
  std::string_view more;       ///< further lines of help, each ended; empty for none

  /// Returns the command line that help shows.
  [[nodiscard]] std::string line() const {
    std::string typed = "harness";
    for (const std::string_view part : {name, arguments}) {
      if (!part.empty()) typed.append(" ").append(part);
    }
    return typed;
  }
};

/// Returns all commands, in the order of help.
[[nodiscard]] const std::vector<CommandEntry>& command_rows();

/// Returns the lines of help on how values are written.
[[nodiscard]] std::string_view notes_on_values();

/// Returns the lines of help on the exit status.
[[nodiscard]] std::string_view notes_on_exit_status();

/// Returns all rows, in the order of help.
[[nodiscard]] const std::vector<OptionEntry>& option_rows();

/// Returns the row of an option. Throws InputError that suggests the nearest name, also among `others`: further options
/// of the command.
[[nodiscard]] const OptionEntry& option_row(std::string_view name, std::vector<std::string> others = {});

}  // namespace latchlab
