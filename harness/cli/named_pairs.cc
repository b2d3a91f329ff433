#include "harness/cli/named_pairs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "harness/cli/cli.h"
#include "harness/cli/given.h"
#include "harness/cli/options.h"
#include "harness/cli/parse_commands.h"
#include "harness/config/config.h"
#include "harness/config/values.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "workloads/workload.h"

namespace latchlab {

namespace {

constexpr std::size_t kMostPoints = 100'000;

/// Returns the pair of a point. Without an index it is that of a Wiscer file, or the default.
std::string pair_of(const std::map<std::string, std::string>& values, const Registry& registry) {
  const auto spec = [&](const char* option, const Spec& otherwise) {
    const auto value = values.find(option);
    return value == values.end() ? otherwise : Spec::parse(value->second);
  };
  const Config defaults;
  std::string index = registry.index_meant(spec("index", defaults.index));
  if (const Spec workload = spec("workload", defaults.workload); !values.contains("index") && workload.name == "wiscer")
    index = Workload(workload, 0).wiscer()->engine_in_effect().index;
  return fmt::format("{}:{}", index, spec("sync", defaults.sync).name);
}

std::vector<NamedPoint> points_of(const Given& given, const Registry& registry) {
  Given axes;
  std::size_t count = 1;
  for (const auto& [name, values] : given) {
    const bool is_axis = option_row(name).apply != nullptr;
    axes.emplace_back(name, is_axis ? expand_axis(fmt::format("--{}", name), values) : values);
    count *= axes.back().second.size();
    if (count > kMostPoints)
      throw InputError(fmt::format("--{}: these lists make more than {} runs", name, kMostPoints));
  }
  std::vector<NamedPoint> points(count);
  for (std::size_t point = 0; point < count; ++point) {
    std::map<std::string, std::string> values;
    std::vector<std::string>& words = points[point].words;
    std::size_t left = point;
    for (const auto& [name, axis] : std::views::reverse(axes)) {
      const std::string& value = axis[left % axis.size()];
      left /= axis.size();
      values[name] = value;
      words.push_back(option_row(name).metavar.empty() ? "--" + name : fmt::format("--{}={}", name, value));
    }
    std::ranges::reverse(words);
    points[point].pair = pair_of(values, registry);
  }
  return points;
}

/// Adds the pairs of a run that the build lacks.
void add_missing(std::vector<std::string>& pairs, Given given, const Registry& registry) {
  std::erase_if(given, [](const auto& option) {
    return option.first != "index" && option.first != "sync" && option.first != "workload";
  });
  for (const NamedPoint& point : points_of(given, registry)) {
    const std::size_t colon = point.pair.find(':');
    const bool lacks = registry.lacks(point.pair.substr(0, colon), point.pair.substr(colon + 1));
    if (lacks && std::ranges::count(pairs, point.pair) == 0) pairs.push_back(point.pair);
  }
}

/// Reads the options of a run.
Given options_of_run(const std::vector<std::string>& args) {
  return read_options(args, [](const std::string& name) -> const OptionEntry& { return option_row(name); });
}

/// Adds the pairs of each variant, whose own options replace those common to all.
void add_pairs_of_variants(std::vector<std::string>& pairs, const std::vector<std::string>& args,
                           const Registry& registry) {
  Given given = read_options(args, ab_option);
  for (auto& [name, lines] : Given(given)) {
    if (name.size() != 1) continue;
    for (const std::string& line : lines) {
      Given variant = options_of_run(split_like_shell(line));
      for (const auto& option : given) {
        if (!replaced_by(option.first, variant)) variant.push_back(option);
      }
      add_missing(pairs, std::move(variant), registry);
    }
  }
}

}  // namespace

std::vector<std::string> missing_pairs(const std::vector<std::string>& args, const Registry& registry) {
  std::vector<std::string> pairs;
  if (args.empty()) return pairs;
  try {
    if (args[0] == "ab") {
      add_pairs_of_variants(pairs, {args.begin() + 1, args.end()}, registry);
    } else if (args[0].starts_with('-') || args[0].starts_with('@')) {
      add_missing(pairs, options_of_run(args), registry);
    }
  } catch (const InputError&) {  // the command itself reports it
  }
  return pairs;
}

std::vector<NamedPoint> named_points(const std::vector<std::string>& args, const Registry& registry) {
  const Given given = options_of_run(args);
  std::vector<NamedPoint> points = points_of(given, registry);
  for (const auto& [name, values] : given) {
    const OptionEntry& option = option_row(name);
    if (option.apply == nullptr) continue;
    for (const std::string& value : expand_axis("--" + name, values)) {
      Config alone;
      option.apply(alone, value);
      if (name == "workload") (void)Workload(alone.workload, 0);
    }
  }
  for (const NamedPoint& point : points) {
    const std::size_t colon = point.pair.find(':');
    registry.check_existence(point.pair.substr(0, colon), point.pair.substr(colon + 1));
  }
  return points;
}

}  // namespace latchlab
