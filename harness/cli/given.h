#pragma once

// The first step from argv: sorts the given options by name, without looking at their values.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cli/options.h"
#include "harness/config/config.h"

namespace latchlab {

/// The metavar of an option whose value is a command line of its own.
inline constexpr std::string_view kLine = "ARGS";

/// Options as given: name to values, in the order of their first appearance.
using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Sorts arguments by option. `describe(name)` returns the row of an option or throws.
///   1. An option that directly follows itself adds a value.
///   2. An option that comes again after others replaces its earlier values.
///   3. `@FILE` stands for the options in a file, one a line. Options of the command line replace them wherever it
///      stands. Options of a file replace those of a file before it.
/// Throws InputError for a word that is no option, a value that is missing or not allowed, and an unreadable file.
[[nodiscard]] Given read_options(const std::vector<std::string>& args,
                                 const std::function<const OptionEntry&(const std::string& name)>& describe);

/// Returns true if an option in `given` replaces the option `name`, given elsewhere. An option replaces itself; --time
/// and --ops replace each other.
[[nodiscard]] bool replaced_by(std::string_view name, const Given& given);

/// Returns words from which read_options makes these options.
[[nodiscard]] std::vector<std::string> words_of(const Given& given);

/// Returns the values of an option; null if it was not given.
[[nodiscard]] std::vector<std::string>* find(Given& given, std::string_view name);

/// Removes an option and returns its value; nothing if it was not given. Throws InputError if it was given twice.
[[nodiscard]] std::optional<std::string> take(Given& given, std::string_view name);

/// Returns the value of --progress.
[[nodiscard]] ProgressMode parse_progress(const std::optional<std::string>& text);

}  // namespace latchlab
