#pragma once

// What a command line asks for: one struct a command, filled in by the parser (cli.h).

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/config/plan.h"
#include "src/base/types.h"

namespace latchlab {

/// So many of a point may be asked for: by --reps of a run, by --replicates of ab.
constexpr u32 kMostReplicates = 10'000;

struct RunCommand {
  std::vector<Plan> runs;      ///< every point `reps` times in a row; one alone where it has Plan::requests_to
  std::vector<Alloc> mallocs;  ///< whose malloc runs need, each once; with several, each run is a process of its own
  std::string machine;  ///< --topology, the machine for which the runs are planned, and not run; empty for this one
  std::string out;      ///< folder for result documents; empty for none
  bool json = false;    ///< documents on stdout instead of the table
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

struct TraceCommand {
  std::string format;  ///< empty: info
  std::string from;    ///< of info: the file
  std::string to;
};

struct AbCommand {
  struct Variant {
    std::string name;               ///< a, b, c, ...
    std::string line;               ///< its own options, as given
    std::vector<std::string> args;  ///< as a shell would split them, those common to all variants first
  };
  std::vector<Variant> variants;
  std::string common;                  ///< the options of all variants, in one line
  std::optional<u32> replicates = 10;  ///< nothing: as many as the interval takes
  u64 seed = 1;                        ///< of the order within blocks and of the bootstrap
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

struct CompareCommand {
  std::vector<std::string> paths;  ///< files or folders with results, at least two, at most as many as ab has letters
  u64 seed = 1;                    ///< of the bootstrap
  bool json = false;
};

struct LimitsCommand {
  Plan plan;          ///< threads, placement and pages
  u64 footprint = 0;  ///< bytes
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

using Command = std::variant<RunCommand, ListCommand, DoctorCommand, HelpCommand, ExplainCommand, HdrCommand,
                             RowsCommand, ExperimentCommand, AbCommand, CompareCommand, LimitsCommand, TraceCommand>;

}  // namespace latchlab
