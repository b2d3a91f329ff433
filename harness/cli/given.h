#pragma once

// The first step from argv: options as they were given, by name, with nothing said yet of their values.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cli/options.h"
#include "harness/config/config.h"

namespace latchlab {

/// What stands for the value of an option that is a command line of its own.
inline constexpr std::string_view kLine = "ARGS";

/// Options as given: name to values, in the order of their first appearance.
using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Sorts arguments by option. `describe(name)` returns the row of an option or throws. An option that follows itself
/// adds a value; one that comes again behind others replaces what it was before. `@FILE` stands for the options of a
/// file, one a line; where options of the command line replace them, and those of a file another's before it, it does
/// not matter where it stands. Throws InputError for what is no option, for a value that is missing or too much, and
/// for a file that cannot be read.
[[nodiscard]] Given read_options(const std::vector<std::string>& args,
                                 const std::function<const OptionEntry&(const std::string& name)>& describe);

/// Whether one of `given` takes the place of the option `name`, given elsewhere: itself, or the other of --time and
/// --ops.
[[nodiscard]] bool replaced_by(std::string_view name, const Given& given);

/// The words that read_options reads as these.
[[nodiscard]] std::vector<std::string> words_of(const Given& given);

/// Its values; null if it was not given.
[[nodiscard]] std::vector<std::string>* find(Given& given, std::string_view name);

/// Its one value, which is no longer among the rest; nothing if it was not given. Throws InputError if it was given
/// twice.
[[nodiscard]] std::optional<std::string> take(Given& given, std::string_view name);

/// The value of --progress.
[[nodiscard]] ProgressMode parse_progress(const std::optional<std::string>& text);

}  // namespace latchlab
