#pragma once
#include <string>
#include <vector>

namespace latchlab::testing {

/// What is wrong with `document`, the text of a JSON document, by the schema at `schema`, a path from the top of the
/// tree: a line each, empty if it conforms. Asks python3-jsonschema, in a process of its own. Throws std::runtime_error
/// if that does not run.
[[nodiscard]] std::vector<std::string> schema_violations(const std::string& schema, const std::string& document);

/// Checks that the file at `path`, from the top of the tree, holds this text, which is made from the sources. Where it
/// does not, the text is written to the build folder and the failure says how to commit it.
void check_committed(const std::string& path, const std::string& text);

}  // namespace latchlab::testing
