#pragma once

// Turns argv into a Command. One table (option_rows() in options.cc) has every option: parsing, the help text and the
// suggestions for mistyped words all come from it. All checks are made here, before anything runs: a mistake in the
// last point of a sweep must not show up after three hours.
//
//   harness [--option=value...]        runs every point of the product of all axes
//   harness list [TOPIC]               harness doctor              harness help [TOPIC]
//   harness --version                  says what this binary was built from
//   harness ab --a="..." --b="..."     compares variants: see ab.h
//   harness compare A B...             compares existing results: see compare.h
//   harness limits                     measures the machine's limits: see survey.h
//   harness explain RESULT [BASE]      explains a result: see explain.h
//   harness hdr RESULT [NAME]          exports a result's latency histograms: see hdr.h
//   harness check FILE                 checks a recorded history: see check_command.h
//   harness trace convert|info         converts or describes a trace: see trace_command.h
//   harness missing-pairs ARGS         lists pairs to build, for ./bench: see named_pairs.h
//   harness points ARGS                lists the runs of ./bench ci with their pairs, as JSON: see named_pairs.h
//   harness experiment NAME            redraws a figure: see experiment.h
//   harness export RESULTS...          writes results as a table: see experiment.h
//
// Every option that describes a run is an axis:
//   1. it takes lists and ranges (values.h);
//   2. given several times in a row it is a list, since that is how a shell expands one;
//   3. given again after other options it replaces its earlier values.
// @FILE stands for options in a file; options of the command line replace those (given.h). The last axis on the command
// line changes fastest.

#include <string>
#include <vector>

#include "harness/config/commands.h"
#include "harness/config/config.h"
#include "harness/config/registry.h"
#include "harness/host/topology.h"
#include "src/base/types.h"

namespace latchlab {

/// The facts about this machine and this build that checks need.
struct Surroundings {
  const Registry& registry;
  u64 memory_available = 0;  ///< bytes, for the default and the limit of --records
  const Topology& topology;  ///< the machine that runs, or for which runs are planned
  bool models = false;       ///< this build predicts runs on modelled machines, and measures none
};

/// Parses and checks `args`, the words after the program's name. Throws InputError with one line.
[[nodiscard]] Command parse_command_line(const std::vector<std::string>& args, const Surroundings& surroundings);

/// Splits a line as a shell would: blanks separate words, '..' and ".." quote, and a backslash makes the next character
/// literal, also within "..". Throws InputError for a quote that is not closed.
[[nodiscard]] std::vector<std::string> split_like_shell(std::string_view line);

/// Returns the text of `harness help`.
[[nodiscard]] std::string help_text();

/// Returns the text of `harness help TOPIC`. It is the same on every machine, and docs/help has it for readers without
/// a harness. A topic is a command, one of `harness list`, or "topics", which names them all. Throws InputError, which
/// names the topics, for any other word.
[[nodiscard]] std::string help_text(const Registry& registry, const std::string& topic);

/// Returns the text of `harness --version`: the project's version, the commit, the compiler and the machine of this
/// build.
[[nodiscard]] std::string version_text();

}  // namespace latchlab
