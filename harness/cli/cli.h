#pragma once

// From argv to what is to be done. One table (option_rows() in options.cc) holds every option: parsing,
// the help text and the suggestions for mistyped words all come from it. Everything that can be checked is
// checked here, before anything runs: a mistake in the last point of a sweep must not show up after three
// hours.
//
//   harness [--option=value...]        runs every point of the product of all axes
//   harness list [TOPIC]               harness doctor              harness help [COMMAND]
//   harness ab --a="..." --b="..."     compares variants: see ab.h
//   harness compare A B...             the same of results that are there: see compare.h
//   harness limits                     what the machine can do at best: see survey.h
//   harness explain RESULT [BASE]      what a result says: see explain.h
//   harness hdr RESULT [NAME]          its latency histograms for other tools: see hdr.h
//   harness trace convert|info         traces of operations: see trace_command.h
//   harness experiment NAME            redraws a figure: see experiment.h
//
// Every option that describes a run is an axis: it takes lists and ranges (values.h) and may be given
// several times in a row, which is what a shell makes of a list; behind other options it replaces what it was before.
// @FILE stands for options in a file, which those of the command line replace (given.h). The axis that stands last on
// the command line changes fastest.

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/config/config.h"
#include "harness/config/registry.h"
#include "harness/host/topology.h"
#include "src/base/types.h"

namespace latchlab {

/// What the checks need to know about this machine and this build.
struct Surroundings {
  const Registry& registry;
  u64 memory_available = 0;  ///< bytes, for the default of --records and its limit
  const Topology& topology;  ///< of the machine that runs, or for which runs are planned
};

/// `args` are those after the program's name. Throws InputError with one line.
[[nodiscard]] Command parse_command_line(const std::vector<std::string>& args, const Surroundings& surroundings);

/// Splits a line as a shell would: blanks separate, '..' and ".." quote, a backslash takes the next character
/// as it is (within ".." too). Throws InputError for a quote that is not closed.
[[nodiscard]] std::vector<std::string> split_like_shell(std::string_view line);

/// The text of `harness help`.
[[nodiscard]] std::string help_text();

}  // namespace latchlab
