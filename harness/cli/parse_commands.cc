#include "harness/cli/parse_commands.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/check.h"
#include "harness/cli/given.h"
#include "harness/cli/memory_room.h"
#include "harness/cli/options.h"
#include "harness/commands/machine_survey.h"
#include "harness/config/values.h"
#include "harness/host/limits.h"
#include "harness/host/placement.h"
#include "src/base/error.h"
#include "src/base/printable.h"
#include "src/base/spec.h"

namespace latchlab {

namespace {

constexpr std::size_t kMostVariants = 8;  // a to h

/// "3%" is .03.
double parse_effect(const std::string& text) {
  const std::optional<double> percent =
      text.ends_with('%') ? parse_double(std::string_view(text).substr(0, text.size() - 1)) : std::nullopt;
  if (percent && *percent > 0 && *percent < 100) return *percent / 100;
  throw InputError(fmt::format("--effect: '{}' is no percentage between 0 and 100; write --effect=3%", text));
}

}  // namespace

const OptionEntry& ab_option(const std::string& name) {
  static const OptionEntry kVariant{"a", kLine, "", "", nullptr};
  static const OptionEntry kReplicates{"replicates", "N", "", "", nullptr};
  const bool is_variant = name.size() == 1 && name[0] >= 'a' && name[0] <= 'h';
  if (is_variant) return kVariant;
  if (name == "replicates") return kReplicates;
  if (name.size() == 1) throw InputError(fmt::format("--{}: variants are lettered --a to --h", name));
  return option_row(name, {"a", "b", "replicates"});
}

AbCommand parse_ab(const std::vector<std::string>& args, const Surroundings& surroundings) {
  Given given = read_options(args, ab_option);
  AbCommand command;
  if (const auto text = take(given, "replicates"); text && *text == "auto") {
    command.replicates = std::nullopt;
  } else if (text) {
    command.replicates = static_cast<u32>(parse_count("--replicates", *text, 1, kMostReplicates));
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
  }
  if (variants.size() < 2) {
    throw InputError("ab compares at least two variants: harness ab --a=\"--sync=none\" --b=\"--sync=olc\"");
  }
  for (const auto& [name, instead] :
       {std::pair{"reps", "--replicates=N"}, std::pair{"replicate", "--replicates=N"},
        std::pair{"out", "--json > FILE"}, std::pair{"block", "--seed=N"}, std::pair{"order", "--seed=N"},
        std::pair{"dry-run", "harness --dry-run"}, std::pair{"fit", "fewer --threads"},
        std::pair{"profile", "harness --profile=FILE"}, std::pair{"history", "harness --history=FILE"},
        std::pair{"topology", "harness --topology=MACHINE"}}) {
    if (find(given, name) != nullptr) {
      throw InputError(fmt::format("--{} has no meaning in harness ab; did you mean {}?", name, instead));
    }
  }
  if (const std::vector<std::string>* seed = find(given, "seed")) {
    command.seed = parse_count("--seed", seed->front(), 0, ~u64{0});
  }

  // The options that are left describe the runs of all variants.
  command.common = fmt::format("{}", fmt::join(words_of(given), " "));
  std::vector<std::size_t> overridden_by(given.size());
  std::size_t open = 0;                            // variants in an open loop
  std::size_t modelled_media = 0, real_media = 0;  // of variants with far memory
  for (AbCommand::Variant& variant : variants) {
    const auto fail = [&](std::string_view why) { return InputError(fmt::format("--{}: {}", variant.name, why)); };
    try {
      Given own = read_options(split_like_shell(variant.line),
                               [](const std::string& name) -> const OptionEntry& { return option_row(name); });
      for (const char* name : {"out", "json", "profile", "progress", "reps", "fit", "topology", "dry-run", "block",
                               "order", "replicate", "history"}) {
        if (find(own, name) != nullptr) throw InputError(fmt::format("--{} belongs to no variant", name));
      }
      // An option of the variant overrides the common one.
      Given all;
      for (std::size_t i = 0; i < given.size(); ++i) {
        const bool overridden = replaced_by(given[i].first, own);
        if (!overridden) all.push_back(given[i]);
        overridden_by[i] += overridden;
      }
      std::ranges::move(own, std::back_inserter(all));
      variant.args = words_of(all);
      const RunCommand run = parse_run(variant.args, surroundings);
      if (run.runs.size() != 1) throw InputError("a variant is one run: no lists, no ranges");
      const Config& config = run.runs.front().config;
      if (!run.runs.front().requests_to.empty()) {
        throw InputError(fmt::format("--workload={} has storageEngine=none, which runs nothing; write --index=NAME",
                                     config.workload.str()));
      }
      open += config.rate.has_value();
      if (config.far) ++(config.far->kind == MediumKind::kModel ? modelled_media : real_media);
      if (!config.machine.name.empty()) {
        variant.seed = config.seed;
        std::erase_if(all, [](const auto& option) { return option.first == "seed"; });
        variant.args = words_of(all);
      }
      if (config.rate && config.latency_every == 0) {
        throw InputError("--latency=off: runs with a --rate are compared by their response times; leave it out");
      }
    } catch (const InputError& error) {
      throw fail(error.what());
    }
  }
  if (open != 0 && open != variants.size()) {
    throw InputError(
        "--rate: response times at a rate do not compare with the throughput of a run without one; give it to all "
        "variants");
  }
  if (modelled_media != 0 && real_media != 0) {
    throw InputError(
        "--far: a modelled medium does not compare with a real one: the ratio would say more of the model; write both "
        "results with --out, and compare them by harness compare --mix");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (overridden_by[i] < variants.size()) continue;
    throw InputError(fmt::format("{}: no variant uses it, since each has its own; leave it out",
                                 fmt::join(words_of({given[i]}), " ")));
  }
  command.variants = std::move(variants);
  return command;
}

CompareCommand parse_compare(const std::vector<std::string>& args) {
  CompareCommand command;
  std::vector<std::string> options;
  for (const std::string& arg : args) (arg.starts_with("--") ? options : command.paths).push_back(arg);
  static const OptionEntry kEffect{"effect", "PERCENT", "", "", nullptr};
  static const OptionEntry kMix{"mix", "", "", "", nullptr};
  Given given = read_options(options, [&](const std::string& name) -> const OptionEntry& {
    if (name == kEffect.name) return kEffect;
    if (name == kMix.name) return kMix;
    if (name == "json" || name == "seed") return option_row(name);
    throw InputError(
        fmt::format("compare: --{} has no meaning here; there are --effect=PERCENT, --json, --mix and --seed=N", name));
  });
  command.mixes = take(given, "mix").has_value();
  command.json = take(given, "json").has_value();
  if (const auto seed = take(given, "seed")) command.seed = parse_count("--seed", *seed, 0, ~u64{0});
  if (const auto effect = take(given, "effect")) command.effect = parse_effect(*effect);
  if (command.paths.size() < 2 || command.paths.size() > kMostVariants) {
    throw InputError(
        fmt::format("compare: it takes 2 to {} files or folders with results, not {}; write harness compare "
                    "A B",
                    kMostVariants, command.paths.size()));
  }
  std::set<std::filesystem::path> seen;
  for (const std::string& path : command.paths) {
    if (seen.insert(std::filesystem::absolute(path + '/').lexically_normal()).second) continue;
    throw InputError(fmt::format("compare: '{}' is given twice; a result does not differ from itself", path));
  }
  return command;
}

namespace {

/// Refuses what would be found out only after the measurement: a file that exists, or that cannot be written.
void check_new_file(const std::string& path) {
  const auto fail = [&](std::string_view why) {
    return InputError(fmt::format("--write-machine: '{}' {}", printable(path), why));
  };
  std::error_code error;
  if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found)
    throw fail("exists; name a new file");
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    throw fail(fmt::format("cannot be made: {}", std::generic_category().message(errno)));
  if (std::filesystem::path(path).stem().empty()) throw fail("names no file");
}

}  // namespace

LimitsCommand parse_limits(const std::vector<std::string>& args, const Surroundings& surroundings) {
  static const OptionEntry kFootprint{"footprint", "BYTES", "", "", nullptr};
  static const OptionEntry kWriteMachine{"write-machine", "FILE", "", "", nullptr};
  static const OptionEntry kLike{"like", "NAME", "", "", nullptr};
  static const std::vector<std::string> kPlaces{"threads", "pin", "smt", "mem", "hugepages"};
  Given given = read_options(args, [](const std::string& name) -> const OptionEntry& {
    for (const OptionEntry* own : {&kFootprint, &kWriteMachine, &kLike}) {
      if (name == own->name) return *own;
    }
    if (name == "json" || name == "progress" || std::find(kPlaces.begin(), kPlaces.end(), name) != kPlaces.end()) {
      return option_row(name);
    }
    throw InputError(fmt::format(
        "limits: --{} has no meaning here; there are --footprint, --{}, --write-machine, --like, --json and "
        "--progress",
        name, fmt::join(kPlaces, ", --")));
  });
  LimitsCommand command;
  command.json = take(given, "json").has_value();
  command.progress = parse_progress(take(given, "progress"));
  const auto footprint = take(given, "footprint");
  command.footprint = limits_footprint(u64{1} << 30, surroundings.memory_available);
  if (footprint) {
    constexpr u64 kMiB = u64{1} << 20;
    const u64 most = std::max(kMiB, surroundings.memory_available / kMiB * kMiB);  // in whole Mi, for the message
    command.footprint = parse_count("--footprint", *footprint, kMiB, most) / kLineBytes * kLineBytes;
  }
  for (const std::string& name : kPlaces) {
    if (const auto value = take(given, name)) option_row(name).apply(command.plan.config, *value);
  }
  command.plan.seats = seat(surroundings.topology, command.plan.config);
  place_memory(command.plan, surroundings.topology);
  if (!command.plan.mem_degraded.empty()) throw InputError(command.plan.mem_degraded);
  if (const auto file = take(given, "write-machine")) {
    check_new_file(*file);
    (void)shape_of(surroundings.topology);
    command.write_machine = *file;
  }
  if (const auto like = take(given, "like")) {
    if (command.write_machine.empty())
      throw InputError("--like: it is for --write-machine=FILE, which is missing; leave it out or name a file");
    (void)model::MachineFile::of(Spec::parse(*like));
    command.like = *like;
  }
  return command;
}

TraceCommand parse_trace(const std::vector<std::string>& args) {
  constexpr std::string_view kRight =
      "harness trace info FILE, or harness trace convert FORMAT FROM TO (harness list traces)";
  if (args.empty()) throw InputError(fmt::format("trace: the subcommand is missing; write {}", kRight));
  if (args[0] == "info" && args.size() == 2) return {.format = "", .from = args[1], .to = ""};
  if (args[0] == "convert" && args.size() == 4 && !args[1].empty())
    return {.format = args[1], .from = args[2], .to = args[3]};
  throw InputError(
      fmt::format("trace: 'trace {}' has too few or too many words; write {}", fmt::join(args, " "), kRight));
}

}  // namespace latchlab
