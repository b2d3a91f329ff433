#pragma once

// From argv to what is to be done. One table (option_rows() in cli_options.cc) holds every option: parsing,
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
// Every option that describes a run is an axis: it takes lists and ranges (cli_values.h) and may be given
// several times in a row, which is what a shell makes of a list; behind other options it replaces what it was before. @FILE stands
// for options in a file, which those of the command line replace (cli_given.h). The axis that stands last on the command line
// changes fastest.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/config.h"
#include "harness/registry.h"
#include "harness/topology.h"
#include "harness/trace_command.h"
#include "src/base/types.h"

namespace latchlab {

/// What the checks need to know about this machine and this build.
struct Surroundings {
  const Registry& registry;
  u64 memory_available = 0;  ///< bytes, for the default of --records and its limit
  const Topology& topology;  ///< of the machine that runs, or for which runs are planned
};

/// One point to run, or to report as skipped because its combination of words makes no sense.
struct PlannedRun {
  Config config;
  std::string skip;  ///< why; empty for a point that runs
};

struct RunCommand {
  std::vector<PlannedRun> runs;  ///< every point `reps` times in a row; one alone where it has Config::requests_to
  Alloc malloc = Alloc::kMalloc; ///< whose malloc must serve the process
  std::optional<Topology> other; ///< the machine for which the runs are planned, and not run
  std::string out;               ///< folder for result documents; empty for none
  bool json = false;             ///< documents on stdout instead of the table
  ProgressMode progress = ProgressMode::kAuto;
};

struct ListCommand {
  std::string topic;  ///< empty for all
};

struct DoctorCommand {};

struct HelpCommand {};

struct ExplainCommand {
  std::string result;  ///< a file with results; "-" is standard input
  std::string base;    ///< one with a result to tell the distance to, mostly of `none`; empty for none
};

struct HdrCommand {
  std::string result;  ///< a file with results; "-" is standard input
  std::string name;    ///< of one histogram; empty for all
};

struct RowsCommand {
  std::string result;  ///< a file with results; "-" is standard input
};

/// Parsed further by experiments/run.py.
struct ExperimentCommand {
  std::vector<std::string> args;
};

struct AbCommand {
  struct Variant {
    std::string name;               ///< a, b, c, ...
    std::string line;               ///< its own options, as given
    std::vector<std::string> args;  ///< as a shell would split them, those common to all variants first
  };
  std::vector<Variant> variants;
  std::string common;               ///< the options of all variants, in one line
  std::optional<u32> replicates = 10;   ///< nothing: as many as the interval takes
  u64 seed = 1;  ///< of the order within blocks and of the bootstrap
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

struct CompareCommand {
  std::vector<std::string> paths;   ///< files or folders with results, at least two, at most as many as ab has letters
  u64 seed = 1;                     ///< of the bootstrap
  bool json = false;
};

struct LimitsCommand {
  Config config;        ///< threads, placement and pages
  u64 footprint = 0;    ///< bytes
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

using Command = std::variant<RunCommand, ListCommand, DoctorCommand, HelpCommand, ExplainCommand, HdrCommand, RowsCommand, ExperimentCommand,
                             AbCommand, CompareCommand, LimitsCommand, TraceCommand>;

/// `args` are those after the program's name. Throws InputError with one line.
[[nodiscard]] Command parse_command_line(const std::vector<std::string>& args,
                                         const Surroundings& surroundings);

/// Splits a line as a shell would: blanks separate, '..' and ".." quote, a backslash takes the next character
/// as it is (within ".." too). Throws InputError for a quote that is not closed.
[[nodiscard]] std::vector<std::string> split_like_shell(std::string_view line);

/// The text of `harness help`.
[[nodiscard]] std::string help_text();

}  // namespace latchlab
