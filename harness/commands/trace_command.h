#pragma once

// `harness trace convert FORMAT FROM TO` makes a trace of ours (workloads/trace.h) of one that others have recorded
// (workloads/trace_formats.h), with `-` as FROM for standard input; `harness trace info FILE` says what is in one of
// ours.

#include <string>

#include "harness/config/commands.h"
#include "harness/config/config.h"

namespace latchlab {

/// What the command prints. Throws InputError as TraceWriter, read_trace, NewFile and Trace do, and where TO is FROM;
/// OutputError as NewFile does.
[[nodiscard]] std::string run_trace_command(const TraceCommand& command);

/// Writes the keys and the requests of a file of Wiscer to Plan::requests_to, as a trace; returns what is to be
/// printed. Throws InputError as the above does.
[[nodiscard]] std::string write_requests(const Plan& plan);

}  // namespace latchlab
