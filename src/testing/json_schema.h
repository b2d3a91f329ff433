#pragma once
#include <string>
#include <vector>

namespace latchlab::testing {

/// Returns the violations of a schema by `document`, the text of a JSON document: one line each, none if it conforms.
/// `schema` is a path from the top of the tree. Runs python3-jsonschema in a child process. Throws std::runtime_error
/// if that fails.
[[nodiscard]] std::vector<std::string> schema_violations(const std::string& schema, const std::string& document);

/// Checks that the file at `path`, from the top of the tree, holds `text`, which the sources generate. If it does not,
/// the text is written to the build folder and the failure says how to commit it.
void check_committed(const std::string& path, const std::string& text);

}  // namespace latchlab::testing
