#pragma once

// The JSON document of a run. result.schema.json describes it; whoever changes the one changes the other, and
// the schema version with them when a reader would have to change too.
//
// The rule for what was not measured: "x": null and beside it "x_reason": "why". Never zero.

#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/result/result.h"

namespace latchlab {

using Json = nlohmann::ordered_json;

/// Output could not be written: a full disk, a closed pipe. One line; main exits with status 1.
struct OutputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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

/// Writes `text` and a newline as `folder`/`name`: first beside it under a temporary name, then by rename, so
/// that a reader sees all of it or nothing. Throws OutputError, leaving nothing behind.
void write_atomically(const std::string& folder, const std::string& name, const std::string& text);

/// Prints `text` to stdout at once. Throws OutputError if it does not get there.
void print(const std::string& text);

}  // namespace latchlab
