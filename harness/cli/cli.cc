#include "harness/cli/cli.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/check.h"
#include "harness/cli/given.h"
#include "harness/cli/modelled.h"
#include "harness/cli/options.h"
#include "harness/cli/parse_commands.h"
#include "harness/config/values.h"
#include "src/base/error.h"
#include "src/base/new_file.h"
#include "src/history/history_file.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

constexpr std::size_t kMostRuns = 100'000;

/// Checks the folder for results, and makes it if only the folder itself is missing: an error after the run would come
/// too late. A dry run changes nothing, so it accepts a folder that is missing.
std::string check_out(const std::optional<std::string>& folder, bool dry_run) {
  if (!folder) return "";
  std::error_code error;
  if (!dry_run) std::filesystem::create_directory(*folder, error);
  const std::filesystem::path whole = std::filesystem::absolute(*folder);
  const std::filesystem::path parent = (whole.has_filename() ? whole : whole.parent_path()).parent_path();
  std::error_code no_parent;
  if ((dry_run || error == std::errc::no_such_file_or_directory) && !std::filesystem::exists(parent, no_parent)) {
    // Making a whole path would hide a mistyped one.
    throw InputError(fmt::format("--out: '{}' cannot be made: the folder it would be in does not exist", *folder));
  }
  std::error_code no_status;
  if (dry_run && !std::filesystem::exists(*folder, no_status)) return *folder;
  if (!std::filesystem::is_directory(*folder, no_status)) {
    throw InputError(
        fmt::format("--out: '{}' is not a folder and cannot be made{}", *folder, error ? ": " + error.message() : ""));
  }
  if (dry_run) return *folder;
  // A probe file, since permission bits mean nothing to root, and on a file system that takes no files.
  const std::string probe = fmt::format("{}/.latchlab.{}.probe", *folder, getpid());
  const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    throw InputError(fmt::format("--out: '{}' is not writable: {}", *folder, std::strerror(errno)));
  }
  close(file);
  (void)unlink(probe.c_str());
  NewFile::remove_abandoned(*folder);
  return *folder;
}

/// Checks --profile, and that its file can be written: an error after the run would come too late.
std::string check_profile(const std::optional<std::string>& file, const std::vector<Plan>& runs) {
  if (!file) return "";
  if (!file->ends_with(".svg")) {
    throw InputError(fmt::format("--profile: '{}' does not end with .svg, which the picture is", *file));
  }
  if (runs.size() > 1) {
    throw InputError(
        fmt::format("--profile: a picture shows one run, and these are {}; name one of them", runs.size()));
  }
  if (runs.front().config.slo) {
    throw InputError("--profile: --slo measures many rates; profile the one that it finds, with --rate");
  }
  const NewFile probe("profile", *file);
  return *file;
}

/// Checks that the file of --history can be written, that no other file is there, and that one run writes it.
void check_history_file(const std::vector<Plan>& runs) {
  const auto& asked = runs.front().config.history;
  if (!asked) return;
  if (runs.size() > 1) {
    throw InputError(
        fmt::format("--history: a file has the calls of one run, and these are {}; name one of them", runs.size()));
  }
  const HistoryWriter probe(asked->file, 0);  // writes nothing there, since it is not kept
}

/// Applies a value of an option. The error for a list without braces says how to write a list.
void apply(const OptionEntry& option, Config& config, const std::string& value) {
  try {
    option.apply(config, value);
  } catch (const InputError& error) {
    if (value.find(',') == std::string::npos || value.find_first_of("=:/") != std::string::npos) throw;
    throw InputError(fmt::format("{}; a list is '--{}={{{}}}'", error.what(), option.name, value));
  }
}

/// Returns the memory of the machine that the topology describes, in bytes; `otherwise` if it is unknown.
u64 memory_of(const Topology& topology, u64 otherwise) {
  u64 bytes = 0;
  for (const MemoryNode& node : topology.nodes) bytes += node.bytes;
  return bytes > 0 ? bytes : otherwise;
}

/// Returns a text that is equal for values of an option with the same meaning: 1K and 1000, rtm and rtm:20. Other
/// options are left out, since they may make a point invalid.
std::string meaning_of(const OptionEntry& option, const std::string& value, const Registry& registry) {
  Plan plan;
  Config& alone = plan.config;
  apply(option, alone, value);
  alone.index = index_meant(alone.index, registry).plain();
  try {
    alone.index = index_in_effect(alone.index, registry);
  } catch (const Contradiction&) {  // such a point is skipped if another one runs
  }
  alone.sync = in_effect(alone.sync, registry);
  for (Spec* const spec : {&alone.workload, &alone.keys, &alone.distribution, &alone.churn}) *spec = spec->plain();
  return point_of(plan) + alone.keys.str();
}

/// Returns the options that ask for a single run: point number `point` of the product of `axes`, in their order.
std::vector<std::string> words_of_run(const Config& config, const Given& axes, std::size_t point,
                                      const Defaults& defaults) {
  std::vector<std::string> words;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto& [name, values] = *axis;
    // The scale of a machine depends on what else was given, so it is made explicit.
    const std::string& value = values[point % values.size()];
    words.push_back(fmt::format("--{}={}", name, name == "machine" ? config.machine.str() : value));
    point /= values.size();
  }
  std::ranges::reverse(words);
  // The default depends on the free memory at the time, so it is made explicit.
  if (defaults.records && !Workload::by_file(config.workload.name))
    words.push_back(fmt::format("--records={}", config.records));
  if (config.replicate != 0) words.push_back(fmt::format("--replicate={}", config.replicate));
  if (config.block) words.push_back(fmt::format("--block={}", *config.block));
  if (config.order) words.push_back(fmt::format("--order={}", *config.order));
  if (config.preempt) words.emplace_back("--preempt");
  if (config.strict) words.emplace_back("--strict");
  if (config.fit) words.emplace_back("--fit");
  return words;
}

/// Throws InputError for options that have no effect because a file's requests are written and nothing runs.
void check_writes_requests(const RunCommand& command, const Given& given, const std::optional<std::string>& out,
                           const std::optional<std::string>& profile) {
  const auto& run = *std::ranges::find_if(command.runs, [](const Plan& one) { return !one.requests_to.empty(); });
  const auto refuse = [&](std::string_view what) {
    throw InputError(fmt::format(
        "{} --workload={}: its storageEngine=none writes the requests to {} and runs nothing; write --index=NAME "
        "to run it",
        what, run.config.workload.str(), run.requests_to));
  };
  if (command.runs.size() > 1) refuse("--workload: several runs do not go with");
  for (const auto& [name, values] : given) {
    if (name != "workload" && name != "ops" && name != "seed") refuse(fmt::format("--{}: it does not reach", name));
  }
  if (command.json) refuse("--json: it does not reach");
  if (out) refuse("--out: it does not reach");
  if (profile) refuse("--profile: it does not reach");
  if (!command.machine.empty()) refuse("--topology: it does not reach");
  if (command.dry_run) refuse("--dry-run: it does not reach");
}

}  // namespace

RunCommand parse_run(const std::vector<std::string>& args, const Surroundings& here) {
  Given given = read_options(args, [](const std::string& name) -> const OptionEntry& { return option_row(name); });
  RunCommand command;
  command.json = take(given, "json").has_value();
  command.progress = parse_progress(take(given, "progress"));
  command.dry_run = take(given, "dry-run").has_value();
  if (command.dry_run && command.json) throw InputError("--dry-run: nothing runs, so --json has no documents to print");
  const std::optional<std::string> out = take(given, "out");
  const std::optional<std::string> profile = take(given, "profile");
  if (command.dry_run && profile) throw InputError("--dry-run: nothing runs, so --profile has nothing to draw");
  if (const auto machine = take(given, "topology")) {
    if (command.json || out || profile)
      throw InputError("--topology: a plan has no results, so none of --json, --out and --profile means anything");
    if (command.dry_run) throw InputError("--dry-run: --topology runs nothing either; give one of them");
    command.machine = *machine;
  }
  const bool elsewhere = !command.machine.empty();
  const Topology topology = elsewhere ? Topology::read(command.machine) : here.topology;
  const Surroundings surroundings{
      .registry = here.registry,
      .memory_available = elsewhere ? memory_of(topology, here.memory_available) : here.memory_available,
      .topology = topology,
      .models = here.models};
  check_build_for(find(given, "machine"), elsewhere, profile.has_value(), here.models);
  const u64 reps = parse_count("--reps", take(given, "reps").value_or("1"), 1, kMostReplicates);
  Config base;
  base.preempt = take(given, "preempt").has_value();
  base.strict = take(given, "strict").has_value();
  base.fit = take(given, "fit").has_value();
  for (auto& [name, into] : {std::pair{"block", &base.block}, std::pair{"order", &base.order}}) {
    if (const auto text = take(given, name)) {
      *into = static_cast<u32>(parse_count(fmt::format("--{}", name), *text, 0, 1'000'000));
    }
  }
  base.replicate = static_cast<u32>(parse_count("--replicate", take(given, "replicate").value_or("0"), 0, 1'000'000));
  if (base.order && !base.block) {
    throw InputError("--order: it is the place within a block, so it needs --block=N (harness ab gives both)");
  }
  if (find(given, "time") != nullptr && find(given, "ops") != nullptr) {
    throw InputError("--time and --ops: a run ends by time or after a number of operations; give one of them");
  }

  // The product: each axis multiplies the points so far, so the last axis changes fastest.
  std::vector<Config> points{base};
  Given axes;
  for (const auto& [name, values] : given) {
    const OptionEntry& option = option_row(name);
    const std::vector<std::string> axis = expand_axis("--" + name, values);
    if (axis.size() > kMostRuns / points.size()) {
      throw InputError(fmt::format("--{}: the product of all lists and ranges is more than {} runs", name, kMostRuns));
    }
    std::vector<Config> product;
    product.reserve(points.size() * axis.size());
    std::map<std::string, std::string> spelled;  // meanings: 1K and 1000 are one point, and so are rtm and rtm:20
    for (const Config& point : points) {
      for (const std::string& value : axis) {
        product.push_back(point);
        apply(option, product.back(), value);
        if (name == "index") product.back().index = index_meant(product.back().index, surroundings.registry);
        if (&point != &points.front()) continue;
        const auto [same, is_new] = spelled.emplace(meaning_of(option, value, surroundings.registry), value);
        if (is_new) continue;
        const std::string what = same->second == value ? "is given twice" : "is the same as " + same->second;
        throw InputError(fmt::format("--{}: {} {}; --reps=2 runs every point twice", name, value, what));
      }
    }
    points = std::move(product);
    axes.emplace_back(name, axis);
  }
  if (points.size() * reps > kMostRuns) {
    throw InputError(
        fmt::format("--reps: {} points times {} repetitions is more than {} runs", points.size(), reps, kMostRuns));
  }

  const Defaults defaults{.index = find(given, "index") == nullptr,
                          .time = find(given, "time") == nullptr && find(given, "ops") == nullptr,
                          .keys = find(given, "keys") == nullptr,
                          .records = find(given, "records") == nullptr,
                          .warmup = find(given, "warmup") == nullptr,
                          .alloc = find(given, "alloc") == nullptr,
                          .reclaim = find(given, "reclaim") == nullptr,
                          .wait = find(given, "wait") == nullptr,
                          .dist = find(given, "dist") == nullptr,
                          .smt = find(given, "smt") == nullptr,
                          .latency = find(given, "latency") == nullptr,
                          .sample = find(given, "sample") == nullptr};
  CapacityOfKeys capacities;
  std::string first_skip;
  bool any_runs = false;
  for (const Config& point : points) {
    const auto [plan, fits] = planned(point, defaults, surroundings, capacities);
    if (plan.skip.empty() || !fits) any_runs = true;
    if (first_skip.empty()) first_skip = plan.skip;
    for (u32 i = 0; i < reps; ++i) {
      command.runs.push_back(plan);
      command.runs.back().config.replicate += i;
    }
  }
  if (!any_runs) throw InputError(first_skip);
  if (std::ranges::any_of(command.runs, [](const Plan& run) { return !run.requests_to.empty(); })) {
    check_writes_requests(command, given, out, profile);
    return command;
  }
  for (const Plan& run : command.runs) {
    const bool calls =
        run.skip.empty() && run.own_memory.empty() && run.model == nullptr && calls_malloc(run.config.alloc);
    if (calls && std::ranges::count(command.mallocs, run.config.alloc) == 0)
      command.mallocs.push_back(run.config.alloc);
  }
  const bool needs_words = command.dry_run || command.mallocs.size() > 1;
  for (std::size_t i = 0; i < command.runs.size() && needs_words; ++i) {
    command.runs[i].words = words_of_run(command.runs[i].config, axes, i / reps, defaults);
  }
  command.profile = check_profile(profile, command.runs);
  if (!elsewhere && !command.dry_run) check_history_file(command.runs);
  command.out = check_out(out, command.dry_run);
  return command;
}

Command parse_command_line(const std::vector<std::string>& args, const Surroundings& surroundings) {
  std::vector<std::string> known;
  for (const CommandEntry& row : command_rows()) {
    if (!row.name.empty()) known.emplace_back(row.name);
  }
  if (args.empty()) return HelpCommand{};
  const auto check = [&](const std::string& command) {
    if (std::ranges::find(known, command) != known.end()) return;
    throw InputError(fmt::format("there is no command '{}'; there are {}, or options of a run{}", command,
                                 fmt::join(known, ", "), suggestion(command, known)));
  };
  if (args[0] == "--version") {
    if (args.size() == 1) return VersionCommand{};
    throw InputError(fmt::format("--version: '{}' is too much; write harness --version", args[1]));
  }
  const bool is_run = args[0].starts_with('-') || args[0].starts_with('@');
  if (!is_run) check(args[0]);
  // --help asks what could stand in its place, as help COMMAND does. It is allowed at the end of a line only, since
  // words behind it would be ignored.
  const auto help = std::find_if(args.begin(), args.end(), [](const auto& a) { return a == "--help" || a == "-h"; });
  if (help != args.end()) {
    if (help + 1 == args.end()) return HelpCommand{.topic = is_run || args[0] == "help" ? "" : args[0]};
    throw InputError(fmt::format("{}: '{}' is too much; write harness --help", *help, *(help + 1)));
  }
  if (is_run) return parse_run(args, surroundings);

  std::vector<std::string> rest(args.begin() + 1, args.end());
  const auto no_more = [&](std::size_t allowed, std::string_view right) {
    if (rest.size() > allowed) {
      throw InputError(fmt::format("{}: '{}' is too much; write harness {}", args[0], rest[allowed], right));
    }
  };
  const auto no_options = [&] {
    const auto option =
        std::ranges::find_if(rest, [](const auto& word) { return word.starts_with('-') && word != "-"; });
    if (option == rest.end()) return;
    throw InputError(fmt::format("{0}: there is no option {1} here; a file of that name is ./{1}", args[0], *option));
  };
  if (args[0] == "ab") return parse_ab(rest, surroundings);
  if (args[0] == "compare") return parse_compare(rest);
  if (args[0] == "limits") return parse_limits(rest, surroundings);
  if (args[0] == "explain") {
    const bool hot_lines = std::erase(rest, "--hot-lines") != 0;
    no_options();
    no_more(hot_lines ? 1 : 2, hot_lines ? "explain RESULT --hot-lines" : "explain RESULT [BASE]");
    if (rest.empty()) {
      throw InputError("explain: the result is missing; write harness explain RESULT [BASE], '-' for standard input");
    }
    return ExplainCommand{.result = rest[0], .base = rest.size() > 1 ? rest[1] : "", .hot_lines = hot_lines};
  }
  if (args[0] == "hdr") {
    no_options();
    no_more(2, "hdr RESULT [NAME]");
    if (rest.empty())
      throw InputError("hdr: the result is missing; write harness hdr RESULT [NAME], '-' for standard input");
    return HdrCommand{.result = rest[0], .name = rest.size() > 1 ? rest[1] : ""};
  }
  if (args[0] == "rows") {
    no_options();
    no_more(1, "rows RESULT");
    if (rest.empty())
      throw InputError("rows: the result is missing; write harness rows RESULT, '-' for standard input");
    return RowsCommand{.result = rest[0]};
  }
  if (args[0] == "check") {
    no_options();
    no_more(1, "check FILE");
    if (rest.empty()) throw InputError("check: the history is missing; write harness check FILE");
    return CheckCommand{.history = rest[0]};
  }
  if (args[0] == "trace") return parse_trace(rest);
  if (args[0] == "experiment") return ExperimentCommand{rest};
  if (args[0] == "export") return ExportCommand{rest};
  if (args[0] == "list") {
    no_more(1, "list [TOPIC]");
    if (!rest.empty() && rest[0].empty()) throw InputError("list: the topic is empty; leave it out for all");
    return ListCommand{.topic = rest.empty() ? "" : rest[0]};
  }
  if (args[0] == "doctor") {
    constexpr std::string_view kMachine = "--machine=";
    const bool of_model = !rest.empty() && rest[0].starts_with(kMachine);
    if (!rest.empty() && kMachine.starts_with(rest[0]) && rest[0].size() + 1 >= kMachine.size()) {
      throw InputError("doctor: --machine: the value is missing; write --machine=MODEL");
    }
    no_more(of_model ? 1 : 0, "doctor");
    return DoctorCommand{.machine = of_model ? rest[0].substr(kMachine.size()) : ""};
  }
  no_more(1, "help [TOPIC]");
  return HelpCommand{.topic = rest.empty() ? "" : rest[0]};
}

std::vector<std::string> split_like_shell(std::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (i + 1 == line.size()) {
        throw InputError(fmt::format("'{}' ends with a backslash; it must stand before a character", line));
      }
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) throw InputError(fmt::format("'{}' has a {} that is not closed", line, quote));
  return words;
}

}  // namespace latchlab
