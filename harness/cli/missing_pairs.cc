#include "harness/cli/missing_pairs.h"

#include <algorithm>

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

/// Returns the specs of an axis; none if it was not given.
std::vector<Spec> specs_of(Given& given, std::string_view option) {
  std::vector<Spec> specs;
  const std::vector<std::string>* const values = find(given, option);
  if (values == nullptr) return specs;
  for (const std::string& value : expand_axis(fmt::format("--{}", option), *values))
    specs.push_back(Spec::parse(value));
  return specs;
}

/// Returns the index that an option of `index` selects, if this build lacks that one; else the index itself.
std::string index_meant_by(const Spec& index, const Registry& registry) {
  for (const Lacking& lacking : registry.lacking()) {
    if (lacking.meant_by.index != index.name) continue;
    for (const auto& [key, value] : index.options) {
      if (key == lacking.meant_by.option) return lacking.index;
    }
  }
  return index.name;
}

/// Returns the indexes that are given; else for each workload the index of its Wiscer file, or the default.
std::vector<std::string> indexes_of(Given& given, const Registry& registry) {
  std::vector<std::string> names;
  for (const Spec& index : specs_of(given, "index")) names.push_back(index_meant_by(index, registry));
  if (!names.empty()) return names;
  std::vector<Spec> workloads = specs_of(given, "workload");
  if (workloads.empty()) workloads.push_back(Config().workload);
  for (const Spec& workload : workloads) {
    names.emplace_back(workload.name == "wiscer" ? Workload(workload, 0).wiscer()->engine_in_effect().index
                                                 : Config().index.name);
  }
  return names;
}

void add_pairs(std::vector<std::string>& pairs, Given& given, const Registry& registry) {
  std::vector<Spec> policies = specs_of(given, "sync");
  if (policies.empty()) policies.push_back(Config().sync);
  for (const std::string& index : indexes_of(given, registry)) {
    for (const Spec& policy : policies) {
      std::string pair = fmt::format("{}:{}", index, policy.name);
      if (registry.lacks(index, policy.name) && std::ranges::count(pairs, pair) == 0) pairs.push_back(std::move(pair));
    }
  }
}

/// Adds the pairs of each variant, whose own options replace those common to all.
void add_pairs_of_variants(std::vector<std::string>& pairs, const std::vector<std::string>& args,
                           const Registry& registry) {
  Given given = read_options(args, ab_option);
  for (auto& [name, lines] : Given(given)) {
    if (name.size() != 1) continue;
    for (const std::string& line : lines) {
      Given variant = read_options(split_like_shell(line),
                                   [](const std::string& n) -> const OptionEntry& { return option_row(n); });
      for (const auto& option : given) {
        if (!replaced_by(option.first, variant)) variant.push_back(option);
      }
      add_pairs(pairs, variant, registry);
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
      Given given = read_options(args, [](const std::string& name) -> const OptionEntry& { return option_row(name); });
      add_pairs(pairs, given, registry);
    }
  } catch (const InputError&) {  // the command itself reports it
  }
  return pairs;
}

}  // namespace latchlab
