#include "harness/commands/plan.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "harness/config/expected_time.h"
#include "harness/config/numbers.h"

namespace latchlab {

namespace {

/// Threads of one place, and the processors that they run on, in the order of threads.
struct Sitting {
  std::vector<u32> threads;
  std::vector<u32> cpus;
};

using Place = std::tuple<u32, u32, u32>;  // socket, node (the kernel's number), cluster

std::map<Place, Sitting> sittings(const Seats& seats, const Topology& topology) {
  std::map<u32, Place> place_of;
  for (const Processor& p : topology.processors) place_of[p.os] = {p.socket, topology.nodes[p.node].os, p.cluster};
  std::map<Place, Sitting> out;
  for (u32 t = 0; t < seats.threads(); ++t) {
    Sitting& sitting = out[place_of[seats.cpus[t]]];
    sitting.threads.push_back(t);
    sitting.cpus.push_back(seats.cpus[t]);
  }
  return out;
}

std::string numbered(std::string_view what, const std::vector<u32>& numbers) {
  return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s", fold_numbers(numbers));
}

std::string memory_text(const Config& config, const std::set<u32>& own) {
  using Kind = PagePlacement::Kind;
  const std::string nodes = numbered("node", config.mem.nodes);
  const std::string threads = numbered("node", {own.begin(), own.end()});
  switch (config.mem.kind) {
    case Kind::kFirstTouch:
      return fmt::format("{}, each page on that of the thread that touches it first, if it is not full", threads);
    case Kind::kLocal: return fmt::format("{}, each page on that of the thread that asks for it", threads);
    case Kind::kInterleave: return fmt::format("{} in turn", nodes);
    case Kind::kBind: return fmt::format("{}{}", nodes, config.mem.nodes.size() == 1 ? "" : ", the nearest first");
  }
  return "";
}

std::string block(const Plan& run, const Topology& topology) {
  const std::string point = point_of(run) + '\n';
  if (!run.skip.empty()) return point + fmt::format("  skipped: {}\n", run.skip);
  const Seats& seats = run.seats;
  std::string text = point;
  std::set<u32> own;
  for (const auto& [place, sitting] : sittings(seats, topology)) {
    const auto [socket, node, cluster] = place;
    own.insert(node);
    text += fmt::format("  socket {}  node {}  cluster {}  {} on {}\n", socket, node, cluster,
                        numbered("thread", sitting.threads), numbered("processor", sitting.cpus));
  }
  text += fmt::format("  memory of {} from {}\n", run.places_chunks() ? "the index" : "the threads",
                      memory_text(run.config, own));
  if (seats.oversubscribed) {
    text += fmt::format("  {} threads share {}\n", seats.threads(),
                        seats.processors == 1 ? "one processor" : fmt::format("{} processors", seats.processors));
  }
  return text;
}

/// Returns a text from which a shell makes this word.
std::string shell_word(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("-_=+:,./@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string line_of(const Plan& run, const std::string& program, const std::string& out) {
  std::string line = shell_word(program);
  for (const std::string& word : run.words) line += ' ' + shell_word(word);
  return out.empty() ? line : line + ' ' + shell_word("--out=" + out);
}

std::string counted(std::size_t runs) { return fmt::format("{} run{}", runs, runs == 1 ? "" : "s"); }

/// Returns the time of runs, which part of it is not known, and how it is estimated: "about 45 s: --warmup, ...".
std::string time_text(const std::vector<const Plan*>& runs) {
  double seconds = 0;
  std::size_t unknown = 0;
  for (const Plan* run : runs) {
    const ExpectedTime expected = expected_time(*run);
    seconds += expected.seconds;
    unknown += !expected.is_whole;
  }
  if (!runs.empty() && runs.front()->model) {  // a harness models all runs or none
    return fmt::format(
        "at least {}: 1 s for every {} records, and operations of the warm-up; the measured phase takes longer than "
        "its "
        "virtual time",
        short_duration(seconds), grouped(static_cast<u64>(kModelledPerSecond)));
  }
  return fmt::format(
      "about {}{}: --warmup{}, and 1 s for every {} records to load and check", short_duration(seconds),
      unknown == 0 ? "" : fmt::format(" without the measured phase of {}, whose length is not --time", unknown),
      unknown == runs.size() ? "" : ", --time", grouped(static_cast<u64>(kPreparedPerSecond)));
}

}  // namespace

std::string plan_text(const std::vector<Plan>& runs, const Topology& topology) {
  std::string text = fmt::format("{}; a plan: nothing runs\n", topology.describe());
  for (const Plan& run : runs) text += '\n' + block(run, topology);
  return text;
}

DryRun dry_run(const RunCommand& command, const std::string& program) {
  DryRun dry;
  std::vector<const Plan*> runs;
  for (const Plan& run : command.runs) {
    const std::string line = line_of(run, program, command.out);
    if (run.skip.empty()) {
      runs.push_back(&run);
      dry.lines += line + '\n';
    } else {
      dry.remarks += fmt::format("skipped: {}: {}\n", line, run.skip);
    }
  }
  dry.remarks += fmt::format("{}, {}\n", counted(runs.size()), time_text(runs));
  return dry;
}

}  // namespace latchlab
