#pragma once

// Runs the points of a command line one after the other. Each result goes to stdout, a folder or a table. If runs need
// the mallocs of several libraries, each run is a process of its own. A list that was stopped before its end goes on
// with the results that its folder has: see unfinished.h.

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/config/registry.h"
#include "harness/host/topology.h"

namespace latchlab {

/// Runs all points. `command_line` is the whole command line, for the documents. Returns the exit status: 0, or 1 if a
/// run failed or is invalid, or 130 if interrupted. Throws InputError if the machine refuses a point. Throws
/// OutputError if a result cannot be written: its document is then on stdout, and the remaining points are not run.
[[nodiscard]] int run_all(const RunCommand& command, const std::vector<std::string>& command_line,
                          const Registry& registry, const Topology& topology);

/// `--dry-run`: lists the command line of each run that run_all would measure on stdout, and the rest on stderr.
void list_runs(const RunCommand& command, const std::vector<std::string>& command_line, const Topology& topology);

}  // namespace latchlab
