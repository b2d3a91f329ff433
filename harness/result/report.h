#pragma once

// The JSON document of a run, as its structs are described (fields.h). Where a reader would have to change with it,
// RunResult::kSchemaVersion counts up.

#include <string>

#include "harness/result/result.h"
#include "harness/result/write_fields.h"
#include "src/base/error.h"

namespace latchlab {

/// The whole document.
[[nodiscard]] Json document_of(const RunResult& result);

/// The result that a document holds, but for its Plan, of which only block, order and replicate are read. Throws
/// InputError where a value is not what the schema says.
[[nodiscard]] RunResult result_of(const Json& document);

/// The schema of all that document_of writes: result.schema.json.
[[nodiscard]] std::string result_schema();

/// Fills in who, when and which point: run_id, started, point_hash. The id is unique among processes and
/// machines.
void identify(RunResult& result);

/// 16 hex digits, equal for all runs of the same point.
[[nodiscard]] std::string point_hash(const Plan& plan);

/// Prints `text` to stdout at once. Throws OutputError if it does not get there.
void print(const std::string& text);

}  // namespace latchlab
