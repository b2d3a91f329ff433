#pragma once

// `harness trace convert FORMAT FROM TO` converts a recorded trace of another format (workloads/trace_formats.h) to
// ours (workloads/trace.h); `-` as FROM is standard input. `harness trace info FILE` describes a trace of our format.

#include <string>

#include "harness/config/commands.h"
#include "harness/config/config.h"

namespace latchlab {

/// Runs the command and returns the text that it prints. Throws InputError as TraceWriter, read_trace, NewFile and
/// Trace do, and if TO is FROM. Throws OutputError as NewFile does.
[[nodiscard]] std::string run_trace_command(const TraceCommand& command);

/// Writes the keys and requests of a Wiscer file to Plan::requests_to, as a trace, and returns the text to print.
/// Throws as run_trace_command() does.
[[nodiscard]] std::string write_requests(const Plan& plan);

}  // namespace latchlab
