#pragma once

// The first step from argv: options as they were given, by name, with nothing said yet of their values.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cli_options.h"
#include "harness/config.h"

namespace latchlab {

/// What stands for the value of an option that is a command line of its own.
inline constexpr std::string_view kLine = "ARGS";

/// Options as given: name to values, in the order of their first appearance.
using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Sorts arguments by option. `describe(name)` returns the row of an option or throws. Throws InputError for what is no option, for
/// a value that is missing or too much, and for an axis that is given again apart from itself.
[[nodiscard]] Given read_options(const std::vector<std::string>& args,
                                 const std::function<const OptionRow&(const std::string& name)>& describe);

/// Its values; null if it was not given.
[[nodiscard]] std::vector<std::string>* find(Given& given, std::string_view name);

/// Its one value, which is no longer among the rest; nothing if it was not given. Throws InputError if it was given twice.
[[nodiscard]] std::optional<std::string> take(Given& given, std::string_view name);

/// The value of --progress.
[[nodiscard]] ProgressMode parse_progress(const std::optional<std::string>& text);

}  // namespace latchlab
