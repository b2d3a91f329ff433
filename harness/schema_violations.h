#pragma once

// Just enough of JSON Schema (draft 7) to check a document against the committed schemas in tests, with no
// dependency: type, enum, const, minimum, maximum, minLength, properties, required, additionalProperties,
// items, minItems, maxItems, anyOf, allOf, if and then. `pattern` is left to whoever validates with a full
// implementation. An unknown keyword is a violation, so that the schema cannot outgrow it.

#include <string>
#include <vector>

#include "harness/report.h"

namespace latchlab {

/// What is wrong with `document`, one line each with the path to it; empty if it conforms.
[[nodiscard]] std::vector<std::string> schema_violations(const Json& schema, const Json& document,
                                                         const std::string& path = "");

}  // namespace latchlab
