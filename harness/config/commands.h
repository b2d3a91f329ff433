#pragma once

// The commands that a command line can give: one struct each, filled in by the parser (cli.h).

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/config/plan.h"
#include "src/base/types.h"

namespace latchlab {

/// The largest value of --reps of a run and of --replicates of ab.
constexpr u32 kMostReplicates = 10'000;

struct RunCommand {
  std::vector<Plan> runs;      ///< every point `reps` times in a row; a single one if it has Plan::requests_to
  std::vector<Alloc> mallocs;  ///< distinct allocators of the runs; with several, each run is a process of its own
  std::string machine;         ///< --topology: the machine that the runs are only planned for; empty for this machine
  std::string out;             ///< folder for result documents; empty for none
  std::string profile;         ///< file for a flame graph of the only run; empty for none
  bool json = false;           ///< documents on stdout instead of the table
  bool dry_run = false;        ///< the runs are only listed, by Plan::words
  ProgressMode progress = ProgressMode::kAuto;
};

struct ListCommand {
  std::string topic;  ///< empty for all topics
};

struct DoctorCommand {
  std::string machine;  ///< --machine: the modelled machine whose values are judged; empty for this machine
};

struct HelpCommand {
  std::string topic;  ///< empty for the overview
};

struct VersionCommand {};

struct ExplainCommand {
  std::string result;  ///< a file with results; "-" is standard input
  std::string base;    ///< a file with a baseline result, usually of policy `none`; empty for no baseline
  bool hot_lines = false;
};

struct HdrCommand {
  std::string result;  ///< a file with results; "-" is standard input
  std::string name;    ///< name of one histogram; empty for all
};

struct RowsCommand {
  std::string result;  ///< a file with results; "-" is standard input
};

struct CheckCommand {
  std::string history;  ///< a file with a recorded history
};

/// The arguments of `experiment`, which experiments/run.py parses.
struct ExperimentCommand {
  std::vector<std::string> args;
};

/// The arguments of `export`, which experiments/export.py parses.
struct ExportCommand {
  std::vector<std::string> args;
};

struct TraceCommand {
  std::string format;  ///< format to convert from; empty for `trace info`
  std::string from;    ///< the trace to read
  std::string to;      ///< the trace to write; empty for `trace info`
};

struct AbCommand {
  struct Variant {
    std::string name;               ///< letter of the variant: a, b, c, ...
    std::string line;               ///< this variant's own options, as given
    std::vector<std::string> args;  ///< all its options, split as a shell would; the common ones come first
    std::optional<u64> seed{};      ///< of the first block of a modelled variant, which has another one in each
  };
  std::vector<Variant> variants;
  std::string common;                  ///< options common to all variants, in one line
  std::optional<u32> replicates = 10;  ///< nullopt: as many as the confidence interval needs
  u64 seed = 1;                        ///< seeds the order within blocks and the bootstrap
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

struct CompareCommand {
  std::vector<std::string> paths;  ///< files or folders with results: at least two, at most as many as ab has letters
  u64 seed = 1;                    ///< seeds the bootstrap
  double effect = 0;               ///< --effect, a share: a ratio nearer to 1 is no difference; 0 if not given
  bool mixes = false;              ///< --mix: some results may be modelled and others measured
  bool json = false;
};

struct LimitsCommand {
  Plan plan;                  ///< the threads, their placement and the pages
  u64 footprint = 0;          ///< bytes
  std::string write_machine;  ///< a new file for this machine as a modelled one; empty for none
  std::string like;           ///< the machine of all values that are not measured; empty for the nearest shipped one
  bool json = false;
  ProgressMode progress = ProgressMode::kAuto;
};

using Command = std::variant<RunCommand, ListCommand, DoctorCommand, HelpCommand, VersionCommand, ExplainCommand,
                             HdrCommand, RowsCommand, CheckCommand, ExperimentCommand, ExportCommand, AbCommand,
                             CompareCommand, LimitsCommand, TraceCommand>;

}  // namespace latchlab
