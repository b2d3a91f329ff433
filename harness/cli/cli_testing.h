// Helpers that the tests of the command line share: a registry of words, and functions that parse a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/cli/cli.h"
#include "harness/config/registry.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/testing/refusal.h"

namespace latchlab::testing {

using Options = std::vector<std::pair<std::string, std::string>>;

/// Returns a registry of words without types, since the command line never builds an index.
inline Registry some_words() {
  Registry registry;
  const auto add = [&](const char* index, const char* policy, KeyKind keys, bool ordered) {
    Pair pair;
    if (std::string(index) == "tbb") pair.own_memory = "it allocates itself";
    if (std::string(policy) != "olc") pair.no_reclaim = "nothing waits";
    if (std::string(policy) == "spin") pair.no_wait = "it sleeps";
    if (std::string(policy) == "own") pair.copies = [](const Spec&, u64) { return u64{4}; };
    if (std::string(policy) != "spin") pair.no_sections = "it holds no lock";
    pair.index = index;
    pair.side_by_side = std::string(policy) != "spin";
    if (std::string(index) == "tbb") pair.no_batch = "one key at a time";
    pair.hints = std::string(index) == "vip";
    pair.policy = policy;
    pair.keys = keys;
    pair.ordered = ordered;
    pair.far_leaves = pair.index == "art";
    if (std::string(index) == "tbb")
      pair.library = "fmt", pair.no_erase = "what is there stays", pair.no_modify = "no such call";
    pair.many_writers = pair.policy != "none";
    pair.about = "about it";
    pair.resolve = [](const Spec& spec) -> Options {
      SpecReader reader(spec, "policy " + spec.name);
      const u64 restarts = spec.name == "rtm" ? reader.arg_u64(20, 0, 1000) : 0;
      const bool wait = spec.name == "rtm" && reader.flag("wait", true);
      reader.finish();
      return {{"restarts", std::to_string(restarts)}, {"wait", wait ? "1" : "0"}};
    };
    pair.index_degraded = [](const Spec& spec) {
      return spec.str() == "vip:isa=avx" ? std::optional<std::string>("no avx here") : std::nullopt;
    };
    pair.most_keys = [](const Spec& spec) { return spec.arg == "32" ? u64{1'000'000} : ~u64{0}; };
    pair.least_bytes = [](const Spec& spec) { return spec.arg ? u64{std::stoull(*spec.arg)} << 26 : u64{0}; };
    if (pair.index == "vip") {
      pair.widths = [](const Spec& spec) {
        return Widths{.key = spec.arg == "16"   ? 16u
                             : spec.arg == "32" ? 32u
                                                : 64u,
                      .value = spec.arg == "16" ? 32u : 64u};
      };
    }
    pair.resolve_index = [](const Spec& spec) -> Options {
      SpecReader reader(spec, "index " + spec.name);
      if (spec.name == "tbb") {
        const u64 grain = reader.number("grain", 2, 1, 9);
        return reader.finish(), Options{{"grain", std::to_string(grain)}};
      }
      if (spec.name != "vip") return reader.finish(), Options();
      const u64 period = reader.arg_u64(60, 1, 1000);
      const std::vector<std::string> isas{"any", "sse", "avx"};
      const std::size_t isa = reader.one_of("isa", 0, isas);
      reader.finish();
      if (period == 99 && isa == 1) throw Contradiction("index vip: 99 is not of isa=sse");
      return {{"period", std::to_string(period)}, {"isa", isas[isa]}};
    };
    if (pair.index == "tbb") {
      pair.meant_by = {.index = "vip", .option = "grain"};
      pair.index_options = {{.key = "grain", .standard = "2", .meaning = "how coarse"}};
    }
    if (pair.index == "vip") {
      pair.learns = true;
      pair.index_options = {{.key = "period", .standard = "60", .meaning = "how long it rests"},
                            {.key = "isa", .standard = "any", .meaning = "which instructions"}};
    }
    if (pair.policy == "rtm") {
      pair.options = {{.key = "wait", .standard = "1", .meaning = "wait first"}};
      pair.degraded = [](const Spec&) { return std::optional<std::string>("no transactions here"); };
    }
    registry.add(std::move(pair));
  };
  for (const KeyKind keys : {KeyKind::kU64, KeyKind::kBytes}) {
    for (const char* policy : {"none", "spin", "rtm", "olc"}) add("art", policy, keys, true);
  }
  for (const char* policy : {"none", "spin"}) add("vip", policy, KeyKind::kU64, false);
  add("chained", "none", KeyKind::kU64, false);
  add("tbb", "own", KeyKind::kU64, false);
  return registry;
}

inline const Registry kRegistry = some_words();

inline Command parse(const std::vector<std::string>& args) {
  static const Topology kTopology = Topology::synthetic("pack:2 [numa] l3:2 core:2 pu:2");
  return parse_command_line(args, {.registry = kRegistry, .memory_available = u64{8} << 30, .topology = kTopology});
}

inline RunCommand runs(const std::vector<std::string>& args) { return std::get<RunCommand>(parse(args)); }

inline std::string error_of(const std::vector<std::string>& args) {
  return refusal([&] { (void)parse(args); });
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace latchlab::testing
