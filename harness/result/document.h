#pragma once

// Result documents, read again. What a file or another process wrote is looked up with care: nothing in it need be
// there.

#include <optional>
#include <string>
#include <vector>

#include "harness/result/report.h"

namespace latchlab {

/// The number at a JSON pointer; nothing for null, and for what is not there.
[[nodiscard]] std::optional<double> number_at(const Json& document, const std::string& pointer);

/// The text at a JSON pointer: a string as it is, else as JSON writes it; empty for null and for what is not there.
[[nodiscard]] std::string text_at(const Json& document, const std::string& pointer);

/// What a result says of an option, by its name in config; of one that came after it, the plain default.
[[nodiscard]] std::string option_at(const Json& document, const std::string& key);

/// The results of a file, or of standard input ("-"): one, or one a line, as --json prints them; those in the report of
/// a comparison; of a folder those of all its .json files, in the order in which they were run. Throws InputError that
/// begins with `command` for anything else.
[[nodiscard]] std::vector<Json> read_results(const std::string& command, const std::string& path);

}  // namespace latchlab
