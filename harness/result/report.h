#pragma once

// The JSON document of a run, made from the descriptions of its structs (fields.h). A change that readers of documents
// must follow increments RunResult::kSchemaVersion.

#include <string>

#include "harness/result/result.h"
#include "harness/result/write_fields.h"
#include "src/base/error.h"

namespace latchlab {

/// Returns the document of a result.
[[nodiscard]] Json document_of(const RunResult& result);

/// Returns the result in a document. From its Plan it reads only block, order and replicate. Throws InputError if a
/// value does not conform to the schema.
[[nodiscard]] RunResult result_of(const Json& document);

/// Returns the schema of the documents of document_of: the content of result.schema.json.
[[nodiscard]] std::string result_schema();

/// Fills in run_id, started and point_hash. The run_id is unique among processes and machines.
void identify(RunResult& result);

/// Returns 16 hexadecimal digits, equal for all runs of the same point.
[[nodiscard]] std::string point_hash(const Plan& plan);

/// Prints `text` to stdout at once. Throws OutputError if it cannot be written.
void print(const std::string& text);

}  // namespace latchlab
