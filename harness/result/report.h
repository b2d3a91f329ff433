#pragma once

// The JSON document of a run. result.schema.json describes it; whoever changes the one changes the other, and
// the schema version with them when a reader would have to change too.
//
// The rule for what was not measured: "x": null and beside it "x_reason": "why". Never zero.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/result/result.h"
#include "src/base/error.h"

namespace latchlab {

using Json = nlohmann::ordered_json;

/// "key": null, and beside it "key_reason": why.
void put_missing(Json& object, const std::string& key, const std::string& reason);

/// "key": the number, or null with the reason.
void put(Json& object, const std::string& key, const Measured<double>& measured);
void put(Json& object, const std::string& key, const Measured<u64>& measured);

/// The machine, as every document says it.
[[nodiscard]] Json json_of(const MachineInfo& machine);

/// The whole document.
[[nodiscard]] Json document_of(const RunResult& result);

/// Fills in who, when and which point: run_id, started, point_hash. The id is unique among processes and
/// machines.
void identify(RunResult& result);

/// 16 hex digits, equal for all runs of the same point.
[[nodiscard]] std::string point_hash(const Config& config);

/// Prints `text` to stdout at once. Throws OutputError if it does not get there.
void print(const std::string& text);

}  // namespace latchlab
