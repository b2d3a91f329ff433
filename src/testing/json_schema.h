#pragma once
#include <string>
#include <vector>

namespace latchlab::testing {

/// What is wrong with `document`, the text of a JSON document, by the schema at `schema`, a path from the top of the tree: a
/// line each, empty if it conforms. Asks python3-jsonschema, in a process of its own. Throws std::runtime_error if that does
/// not run.
[[nodiscard]] std::vector<std::string> schema_violations(const std::string& schema, const std::string& document);

}  // namespace latchlab::testing
