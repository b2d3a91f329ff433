#include "harness/cli.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli_check.h"
#include "harness/cli_options.h"
#include "harness/cli_values.h"
#include "harness/limits.h"
#include "harness/placement.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

constexpr std::size_t kMostRuns = 100'000;
constexpr std::size_t kMostVariants = 8;   // a to h

/// What stands for the value of an option that is a command line of its own.
constexpr std::string_view kLine = "ARGS";

/// Options as given: name to values, in the order of their first appearance.
using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::vector<std::string>* find(Given& given, std::string_view name) {
  for (auto& [known, values] : given) {
    if (known == name) return &values;
  }
  return nullptr;
}

std::optional<std::string> take(Given& given, std::string_view name) {
  for (auto it = given.begin(); it != given.end(); ++it) {
    if (it->first != name) continue;
    if (it->second.size() > 1) {
      throw InputError(fmt::format("--{} is given {} times", name, it->second.size()));
    }
    std::string value = it->second.front();
    given.erase(it);
    return value;
  }
  return std::nullopt;
}

/// Sorts arguments by option. `describe(name)` returns the row of an option or throws.
template <class Describe>
Given read_options(const std::vector<std::string>& args, Describe&& describe) {
  Given given;
  std::string last;   // option before this one
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (!arg.starts_with("--") || arg.size() == 2) {
      throw InputError(fmt::format("'{}' is not an option: options are --name=value; see harness help", arg));
    }
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (name.empty()) {
      throw InputError(fmt::format("'{}' names no option: options are --name=value; see harness help", arg));
    }
    if (name == "help" && equals != std::string::npos) throw InputError("--help takes no value");
    const OptionRow& option = describe(name);
    std::string value;
    if (option.metavar.empty()) {
      if (equals != std::string::npos) throw InputError(fmt::format("--{} takes no value", name));
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size() && (option.metavar == kLine || !args[i + 1].starts_with("--"))) {
      value = args[++i];  // a variant's line is made of options, so there dashes mean nothing
    }
    if (!option.metavar.empty() && value.empty()) {
      throw InputError(
          fmt::format("--{}: the value is missing; write --{}={}", name, name, option.metavar));
    }
    if (std::vector<std::string>* values = find(given, name)) {
      // A shell makes neighbours of a list's elements. Apart they are a second thought, which would be run beside the first.
      if (option.apply && last != name) {
        throw InputError(fmt::format("--{} is given twice, {} and {}; a list is '--{}={{{},{}}}'", name, values->back(), value, name,
                                     values->back(), value));
      }
      values->push_back(std::move(value));
    } else {
      given.emplace_back(name, std::vector<std::string>{std::move(value)});
    }
    last = name;
  }
  return given;
}

ProgressMode parse_progress(const std::optional<std::string>& text) {
  if (!text || *text == "auto") return ProgressMode::kAuto;
  if (*text == "plain") return ProgressMode::kPlain;
  if (*text == "none") return ProgressMode::kNone;
  throw InputError(fmt::format("--progress: there is no '{}'; write auto, plain or none{}", *text,
                               suggestion(*text, {"auto", "plain", "none"})));
}

/// The folder for results, made in its parent if it is missing: finding out after the run would be too late.
std::string check_out(const std::optional<std::string>& folder) {
  if (!folder) return "";
  std::error_code error;
  std::filesystem::create_directory(*folder, error);
  const std::filesystem::path parent = std::filesystem::absolute(*folder).parent_path();
  std::error_code no_parent;
  if (error == std::errc::no_such_file_or_directory && !std::filesystem::exists(parent, no_parent)) {
    // Making a whole path would hide a mistyped one.
    throw InputError(fmt::format("--out: '{}' cannot be made: the folder it would be in does not exist", *folder));
  }
  std::error_code no_status;
  if (!std::filesystem::is_directory(*folder, no_status)) {
    throw InputError(fmt::format("--out: '{}' is not a folder and cannot be made{}", *folder,
                                 error ? ": " + error.message() : ""));
  }
  // Permission bits do not tell: for root, and for a file system that takes no files.
  const std::string probe = fmt::format("{}/.latchlab.{}.probe", *folder, getpid());
  const int file = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    throw InputError(fmt::format("--out: '{}' is not writable: {}", *folder, std::strerror(errno)));
  }
  close(file);
  (void)unlink(probe.c_str());
  return *folder;
}

/// A list without braces is one wrong value: says what was meant.
void apply(const OptionRow& option, Config& config, const std::string& value) {
  try {
    option.apply(config, value);
  } catch (const InputError& error) {
    if (value.find(',') == std::string::npos || value.find_first_of("=:/") != std::string::npos) throw;
    throw InputError(fmt::format("{}; a list is '--{}={{{}}}'", error.what(), option.name, value));
  }
}

/// Of another machine, where its topology says so.
u64 memory_of(const Topology& topology, u64 otherwise) {
  u64 bytes = 0;
  for (const MemoryNode& node : topology.nodes) bytes += node.bytes;
  return bytes > 0 ? bytes : otherwise;
}

/// The same for values of an option that mean the same: 1K and 1000, rtm and rtm:20. What other options say is left out, since it may
/// keep this one from a point.
std::string meaning_of(const OptionRow& option, const std::string& value, const Registry& registry) {
  Config alone;
  apply(option, alone, value);
  alone.index = index_in_effect(index_meant(alone.index, registry), registry);
  alone.sync = in_effect(alone.sync, registry);
  for (Spec* const spec : {&alone.workload, &alone.keys, &alone.distribution, &alone.churn}) *spec = spec->plain();
  return point_of(alone) + alone.keys.str();
}

RunCommand parse_run(const std::vector<std::string>& args, const Surroundings& here) {
  Given given =
      read_options(args, [](const std::string& name) -> const OptionRow& { return option_row(name); });
  RunCommand command;
  command.json = take(given, "json").has_value();
  command.progress = parse_progress(take(given, "progress"));
  const std::optional<std::string> out = take(given, "out");
  if (const auto machine = take(given, "topology")) {
    if (command.json || out) throw InputError("--topology: a plan has no results, so neither --json nor --out means anything");
    command.other = Topology::read(*machine);
  }
  const Topology& topology = command.other ? *command.other : here.topology;
  const Surroundings surroundings{
      .registry = here.registry,
      .memory_available = command.other ? memory_of(topology, here.memory_available) : here.memory_available,
      .topology = topology};
  const u64 reps = parse_count("--reps", take(given, "reps").value_or("1"), 1, 10'000);
  Config base;
  base.strict = take(given, "strict").has_value();
  base.fit = take(given, "fit").has_value();
  for (auto& [name, into] : {std::pair{"block", &base.block}, std::pair{"order", &base.order}}) {
    if (const auto text = take(given, name)) {
      *into = static_cast<u32>(parse_count(fmt::format("--{}", name), *text, 0, 1'000'000));
    }
  }
  base.replicate =
      static_cast<u32>(parse_count("--replicate", take(given, "replicate").value_or("0"), 0, 1'000'000));
  if (base.order && !base.block) {
    throw InputError("--order: it is the place within a block, so --block=N belongs to it (harness ab gives both)");
  }
  if (find(given, "time") != nullptr && find(given, "ops") != nullptr) {
    throw InputError(
        "--time and --ops: a run ends by time or after a number of operations; give one of them");
  }

  // The product: each axis multiplies what is there, so the last one changes fastest.
  std::vector<Config> points{base};
  for (const auto& [name, values] : given) {
    const OptionRow& option = option_row(name);
    const std::vector<std::string> axis = expand_axis("--" + name, values);
    if (axis.size() > kMostRuns / points.size()) {
      throw InputError(
          fmt::format("--{}: the product of all lists and ranges is more than {} runs", name, kMostRuns));
    }
    std::vector<Config> product;
    product.reserve(points.size() * axis.size());
    std::map<std::string, std::string> spelled;   // 1K and 1000 are one point, and so are rtm and rtm:20
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
  }
  if (points.size() * reps > kMostRuns) {
    throw InputError(fmt::format("--reps: {} points times {} repetitions is more than {} runs", points.size(),
                                 reps, kMostRuns));
  }

  const Defaults defaults{.time = find(given, "time") == nullptr && find(given, "ops") == nullptr,
                          .keys = find(given, "keys") == nullptr,
                          .records = find(given, "records") == nullptr,
                          .warmup = find(given, "warmup") == nullptr,
                          .alloc = find(given, "alloc") == nullptr,
                          .reclaim = find(given, "reclaim") == nullptr,
                          .dist = find(given, "dist") == nullptr,
                          .smt = find(given, "smt") == nullptr,
                          .latency = find(given, "latency") == nullptr};
  CapacityOfKeys capacities;
  std::string first_skip;
  bool any_runs = false;
  for (Config& point : points) {
    const std::string skip = complete_and_check(point, defaults, surroundings, capacities);
    if (skip.empty() || skip == point.no_room) any_runs = true;
    if (first_skip.empty()) first_skip = skip;
    for (u32 i = 0; i < reps; ++i) {
      command.runs.push_back({.config = point, .skip = skip});
      command.runs.back().config.replicate += i;
    }
  }
  if (!any_runs) throw InputError(first_skip);
  const Config* from_malloc = nullptr;
  for (const PlannedRun& run : command.runs) {
    if (!run.skip.empty() || !run.config.own_memory.empty() || !calls_malloc(run.config.alloc)) continue;
    if (from_malloc != nullptr && from_malloc->alloc != run.config.alloc) {
      throw InputError(fmt::format(
          "--alloc: a process has one malloc, so {} and {} need one each; harness ab and harness experiment start one for each run",
          word(from_malloc->alloc), word(run.config.alloc)));
    }
    from_malloc = &run.config;
  }
  if (from_malloc != nullptr) command.malloc = from_malloc->alloc;
  command.out = check_out(out);
  return command;
}

AbCommand parse_ab(const std::vector<std::string>& args, const Surroundings& surroundings) {
  static const OptionRow kVariant{"a", kLine, "", "", nullptr};
  static const OptionRow kReplicates{"replicates", "N", "", "", nullptr};
  const auto is_variant = [](const std::string& name) {
    return name.size() == 1 && name[0] >= 'a' && name[0] <= 'h';
  };
  Given given = read_options(args, [&](const std::string& name) -> const OptionRow& {
    if (is_variant(name)) return kVariant;
    if (name == "replicates") return kReplicates;
    if (name.size() == 1) throw InputError(fmt::format("--{}: variants are lettered --a to --h", name));
    return option_row(name, {"a", "b", "replicates"});
  });
  AbCommand command;
  if (const auto text = take(given, "replicates"); text && *text == "auto") {
    command.replicates = std::nullopt;
  } else if (text) {
    command.replicates = static_cast<u32>(parse_count("--replicates", *text, 1, 10'000));
  }
  command.json = take(given, "json").has_value();
  command.progress = parse_progress(take(given, "progress"));
  std::vector<AbCommand::Variant> variants;
  for (char letter = 'a'; letter <= 'h'; ++letter) {
    const std::string name(1, letter);
    const std::optional<std::string> line = take(given, name);
    if (!line) continue;
    if (variants.size() != static_cast<std::size_t>(letter - 'a')) {
      throw InputError(fmt::format("--{} is missing: variants are lettered from --a on without gaps",
                                   static_cast<char>('a' + variants.size())));
    }
    variants.push_back({.name = name, .line = *line, .args = {}});
    try {
      variants.back().args = split_like_shell(*line);
    } catch (const InputError& error) {
      throw InputError(fmt::format("--{}: {}", name, error.what()));
    }
  }
  if (variants.size() < 2) {
    throw InputError("ab compares at least two variants: harness ab --a=\"--sync=none\" --b=\"--sync=olc\"");
  }
  for (const auto& [name, instead] : {std::pair{"reps", "--replicates=N"}, std::pair{"replicate", "--replicates=N"},
                                      std::pair{"out", "--json > FILE"}, std::pair{"block", "--seed=N"},
                                      std::pair{"order", "--seed=N"}, std::pair{"fit", "fewer --threads"},
                                      std::pair{"topology", "harness --topology=MACHINE"}}) {
    if (find(given, name) != nullptr) {
      throw InputError(fmt::format("--{} has no meaning in harness ab; did you mean {}?", name, instead));
    }
  }
  if (const std::vector<std::string>* seed = find(given, "seed")) {
    command.seed = parse_count("--seed", seed->front(), 0, ~u64{0});
  }

  // What is left describes the runs of all variants.
  std::vector<std::string> common;
  for (const auto& [name, values] : given) {
    for (const std::string& value : values) {
      common.push_back(option_row(name).metavar.empty() ? "--" + name
                                                        : fmt::format("--{}={}", name, value));
    }
  }
  command.common = fmt::format("{}", fmt::join(common, " "));
  std::vector<std::size_t> overridden_by(common.size());
  std::size_t open = 0;   // variants whose throughput is their rate
  for (AbCommand::Variant& variant : variants) {
    const auto fail = [&](std::string_view why) {
      return InputError(fmt::format("--{}: {}", variant.name, why));
    };
    for (const std::string& arg : variant.args) {
      for (const char* word :
           {"--out", "--json", "--progress", "--reps", "--fit", "--topology", "--block", "--order", "--replicate"}) {
        if (arg == word || arg.starts_with(std::string(word) + "=")) {
          throw fail(fmt::format("{} belongs to no variant", word));
        }
      }
    }
    // An option of the variant overrides the common one of the same name.
    std::vector<std::string> all;
    for (std::size_t i = 0; i < common.size(); ++i) {
      const std::string& arg = common[i];
      const std::string name = arg.substr(0, arg.find('='));
      const bool overridden =
          std::any_of(variant.args.begin(), variant.args.end(), [&](const std::string& own) {
            return own == name || own.starts_with(name + "=") ||
                   (is_end_of_run(name) && is_end_of_run(own.substr(0, own.find('='))));
          });
      if (!overridden) all.push_back(arg);
      overridden_by[i] += overridden;
    }
    all.insert(all.end(), variant.args.begin(), variant.args.end());
    variant.args = std::move(all);
    try {
      const RunCommand run = parse_run(variant.args, surroundings);
      if (run.runs.size() != 1) throw InputError("a variant is one run: no lists, no ranges");
      const Config& config = run.runs.front().config;
      open += config.rate.has_value();
      if (config.rate && config.latency_every == 0) {
        throw InputError("--latency=off: runs of a given --rate are compared by their response times; leave it out");
      }
    } catch (const InputError& error) {
      throw fail(error.what());
    }
  }
  if (open != 0 && open != variants.size()) {
    throw InputError(
        "--rate: response times of a given rate do not compare with the throughput of a run that has none; give it to all");
  }
  for (std::size_t i = 0; i < common.size(); ++i) {
    if (overridden_by[i] < variants.size()) continue;
    throw InputError(fmt::format("{}: no variant uses it, each has its own; leave it out", common[i]));
  }
  command.variants = std::move(variants);
  return command;
}

CompareCommand parse_compare(const std::vector<std::string>& args) {
  CompareCommand command;
  std::vector<std::string> options;
  for (const std::string& arg : args) (arg.starts_with("--") ? options : command.paths).push_back(arg);
  Given given = read_options(options, [&](const std::string& name) -> const OptionRow& {
    if (name == "json" || name == "seed") return option_row(name);
    throw InputError(fmt::format("compare: --{} has no meaning here; there are --json and --seed=N", name));
  });
  command.json = take(given, "json").has_value();
  if (const auto seed = take(given, "seed")) command.seed = parse_count("--seed", *seed, 0, ~u64{0});
  if (command.paths.size() < 2 || command.paths.size() > kMostVariants) {
    throw InputError(fmt::format("compare: {} of 2 to {} files or folders with results; write harness compare A B",
                                 command.paths.size(), kMostVariants));
  }
  return command;
}

LimitsCommand parse_limits(const std::vector<std::string>& args, const Surroundings& surroundings) {
  static const OptionRow kFootprint{"footprint", "BYTES", "", "", nullptr};
  static const std::vector<std::string> kPlaces{"threads", "pin", "smt", "mem", "hugepages"};
  Given given = read_options(args, [](const std::string& name) -> const OptionRow& {
    if (name == kFootprint.name) return kFootprint;
    if (name == "json" || name == "progress" || std::find(kPlaces.begin(), kPlaces.end(), name) != kPlaces.end()) {
      return option_row(name);
    }
    throw InputError(fmt::format("limits: --{} has no meaning here; there are --footprint, --{}, --json and --progress", name,
                                 fmt::join(kPlaces, ", --")));
  });
  LimitsCommand command;
  command.json = take(given, "json").has_value();
  command.progress = parse_progress(take(given, "progress"));
  const auto footprint = take(given, "footprint");
  command.footprint = limits_footprint(u64{1} << 30, surroundings.memory_available);
  if (footprint) {
    constexpr u64 kMiB = u64{1} << 20;
    const u64 most = std::max(kMiB, surroundings.memory_available / kMiB * kMiB);   // which reads as so many Mi
    command.footprint = parse_count("--footprint", *footprint, kMiB, most) / kLineBytes * kLineBytes;
  }
  for (const std::string& name : kPlaces) {
    if (const auto value = take(given, name)) option_row(name).apply(command.config, *value);
  }
  (void)seat(surroundings.topology, command.config);   // throws for a processor that does not exist
  place_memory(command.config, surroundings.topology);
  if (!command.config.mem_degraded.empty()) throw InputError(command.config.mem_degraded);
  return command;
}

TraceCommand parse_trace(const std::vector<std::string>& args) {
  constexpr std::string_view kRight = "harness trace info FILE, or harness trace convert FORMAT FROM TO (harness list traces)";
  if (args.empty()) throw InputError(fmt::format("trace: what of it? Write {}", kRight));
  if (args[0] == "info" && args.size() == 2) return {.format = "", .from = args[1], .to = ""};
  if (args[0] == "convert" && args.size() == 4 && !args[1].empty()) return {.format = args[1], .from = args[2], .to = args[3]};
  throw InputError(fmt::format("trace: 'trace {}' is not complete, or too much; write {}", fmt::join(args, " "), kRight));
}

}  // namespace

Command parse_command_line(const std::vector<std::string>& args, const Surroundings& surroundings) {
  const std::vector<std::string> known{"list", "doctor", "limits", "ab",    "compare", "explain",
                                       "hdr",  "rows",   "trace",  "experiment", "help"};
  if (args.empty()) return HelpCommand{};
  const bool is_run = args[0].starts_with("-");
  if (!is_run && std::find(known.begin(), known.end(), args[0]) == known.end()) {
    throw InputError(fmt::format("there is no command '{}'; there are {}, or options of a run{}", args[0],
                                 fmt::join(known, ", "), suggestion(args[0], known)));
  }
  // At the end of a line it asks what could stand there. What comes behind it would be ignored.
  const auto help = std::find_if(args.begin(), args.end(), [](const auto& a) { return a == "--help" || a == "-h"; });
  if (help != args.end()) {
    if (help + 1 == args.end()) return HelpCommand{};
    throw InputError(fmt::format("{}: '{}' is too much; write harness --help", *help, *(help + 1)));
  }
  if (is_run) return parse_run(args, surroundings);

  const std::vector<std::string> rest(args.begin() + 1, args.end());
  const auto no_more = [&](std::size_t allowed, std::string_view right) {
    if (rest.size() > allowed) {
      throw InputError(fmt::format("{}: '{}' is too much; write harness {}", args[0], rest[allowed], right));
    }
  };
  if (args[0] == "ab") return parse_ab(rest, surroundings);
  if (args[0] == "compare") return parse_compare(rest);
  if (args[0] == "limits") return parse_limits(rest, surroundings);
  if (args[0] == "explain") {
    no_more(2, "explain RESULT [BASE]");
    if (rest.empty()) {
      throw InputError("explain: the result is missing; write harness explain RESULT [BASE], '-' for standard input");
    }
    return ExplainCommand{.result = rest[0], .base = rest.size() > 1 ? rest[1] : ""};
  }
  if (args[0] == "hdr") {
    no_more(2, "hdr RESULT [NAME]");
    if (rest.empty()) throw InputError("hdr: the result is missing; write harness hdr RESULT [NAME], '-' for standard input");
    return HdrCommand{.result = rest[0], .name = rest.size() > 1 ? rest[1] : ""};
  }
  if (args[0] == "rows") {
    no_more(1, "rows RESULT");
    if (rest.empty()) throw InputError("rows: the result is missing; write harness rows RESULT, '-' for standard input");
    return RowsCommand{.result = rest[0]};
  }
  if (args[0] == "trace") return parse_trace(rest);
  if (args[0] == "experiment") return ExperimentCommand{rest};
  if (args[0] == "list") {
    no_more(1, "list [TOPIC]");
    if (!rest.empty() && rest[0].empty()) throw InputError("list: the topic is empty; leave it out for all");
    return ListCommand{.topic = rest.empty() ? "" : rest[0]};
  }
  if (args[0] == "doctor") {
    no_more(0, "doctor");
    return DoctorCommand{};
  }
  no_more(0, "help");
  return HelpCommand{};
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
