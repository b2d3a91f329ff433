#pragma once

// Runs the points of a command line one after the other and hands each result to whoever asked for it:
// stdout, a folder, a table. Where runs need the mallocs of several libraries each is a process of its own.

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/config/registry.h"
#include "harness/host/topology.h"

namespace latchlab {

/// `command_line` is the whole of it, for the documents. Returns the exit status: 0, 1 if a run failed or is
/// invalid, 130 if interrupted. Throws InputError if the machine refuses a point, and OutputError if a result cannot be
/// written: then its document is on stdout, and what follows is not run.
[[nodiscard]] int run_all(const RunCommand& command, const std::vector<std::string>& command_line,
                          const Registry& registry, const Topology& topology);

}  // namespace latchlab
