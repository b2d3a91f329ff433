#pragma once

// Readers of result documents. A file or another process wrote them, so any part of a document may be missing.

#include <optional>
#include <string>
#include <vector>

#include "harness/result/report.h"

namespace latchlab {

/// Returns the number at a JSON pointer; nothing if it is null or missing.
[[nodiscard]] std::optional<double> number_at(const Json& document, const std::string& pointer);

/// Returns the text at a JSON pointer: a string itself, another value as JSON; empty if it is null or missing.
[[nodiscard]] std::string text_at(const Json& document, const std::string& pointer);

/// Returns the value of an option, by its name in config. For an option that is newer than the document, returns the
/// default.
[[nodiscard]] std::string option_at(const Json& document, const std::string& key);

/// Reads all results at `path`, which may be one of these:
///   - a file, or "-" for standard input, with one result or one on each line, as --json prints them
///   - the report of a comparison, with the results in it
///   - a folder: the results of all its .json files, in the order in which they were run
/// Throws InputError that begins with `command` for anything else.
[[nodiscard]] std::vector<Json> read_results(const std::string& command, const std::string& path);

}  // namespace latchlab
