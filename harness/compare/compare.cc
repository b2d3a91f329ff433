#include "harness/compare/compare.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/result/document.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

/// True if this member of the configuration is an option that changes a result.
bool is_option(const std::string& key) {
  constexpr std::string_view kNone[] = {"point", "index_options", "key_kind", "key_file",
                                        "trace", "wiscer",        "phases",   "strict"};
  return std::ranges::count(kNone, key) == 0 && !key.ends_with("_reason");
}

// Places in a document that may differ between results, beside the options.
constexpr const char* kSurroundings[] = {"/machine/hostname",
                                         "/machine/model",
                                         "/machine/microcode",
                                         "/machine/topology_digest",
                                         "/machine/modelled/digest",
                                         "/memory/far/medium",
                                         "/machine/kernel",
                                         "/machine/governor",
                                         "/machine/numa_balancing",
                                         "/machine/thp",
                                         "/machine/damon",
                                         "/build/commit",
                                         "/build/dirty",
                                         "/build/compiler",
                                         "/build/flags",
                                         "/build/type",
                                         "/schema_version"};
// Places that hold the content of workload files: two files of one name may have different contents.
constexpr const char* kFiles[] = {"/config/trace/checksum", "/config/wiscer", "/config/phases"};

/// The distinct words that the documents of each set have for one option or place.
using Words = std::vector<std::set<std::string>>;

/// Collects the words at `place`; `read` reads one document.
Words words_at(const std::vector<ResultSet>& sets, const std::string& place,
               std::string (*read)(const Json&, const std::string&)) {
  Words words;
  for (const ResultSet& set : sets) {
    words.emplace_back();
    for (const Json& document : set.documents) words.back().insert(read(document, place));
  }
  return words;
}

bool one_word_each(const Words& words) {
  return std::all_of(words.begin(), words.end(), [](const auto& of_set) { return of_set.size() == 1; });
}
bool all_the_same(const Words& words) {
  return std::all_of(words.begin(), words.end(), [&](const auto& of_set) { return of_set == words.front(); });
}

/// The role of each option, as compare.h describes the roles.
struct Options {
  std::vector<std::string> differ;
  std::vector<std::string> points;
  std::vector<std::string> common;

  bool differ_in(std::string_view option) const { return std::ranges::count(differ, option) != 0; }
};

Options sort_options(const std::vector<ResultSet>& sets) {
  std::vector<std::string> keys;  // in the order of the documents
  for (const ResultSet& set : sets) {
    for (const Json& document : set.documents) {
      for (const auto& [key, value] : document["config"].items()) {
        if (is_option(key) && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
  }
  Options out;
  for (const std::string& key : keys) {
    const Words words = words_at(sets, key, option_at);
    if (key == "seed" && !one_word_each(words)) continue;  // replicates of one point
    (!one_word_each(words) ? out.points : all_the_same(words) ? out.common : out.differ).push_back(key);
  }
  return out;
}

/// Returns these options of the document as text; options without a value are left out unless all of them are.
std::string options_text(const Json& document, const std::vector<std::string>& keys) {
  std::vector<std::string> words;
  for (const std::string& key : keys) {
    const std::string value = option_at(document, key);
    if (!value.empty()) words.push_back(fmt::format("{}={}", key, value));
  }
  if (words.empty() && !keys.empty()) return fmt::format("without {}", fmt::join(keys, ", "));
  return fmt::format("{}", fmt::join(words, " "));
}

/// Returns a note for each place in which the sets differ.
std::vector<std::string> differences(const std::vector<ResultSet>& sets, std::span<const char* const> places) {
  std::vector<std::string> notes;
  for (const std::string place : places) {
    const Words words = words_at(sets, place, [](const Json& document, const std::string& at) {
      const std::string text = text_at(document, at);
      return text.empty() ? "none" : text;
    });
    std::set<std::string> all;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      all.insert(words[i].begin(), words[i].end());
      if (!words[i].empty())
        parts.push_back(fmt::format("{} ({})", fmt::join(words[i], ", "), static_cast<char>('a' + i)));
    }
    if (all.size() <= 1) continue;
    notes.push_back(fmt::format("the results differ in {}: {}", place.substr(1), fmt::join(parts, ", ")));
  }
  return notes;
}

std::optional<u32> block_of(const Json& document) {
  const std::optional<double> block = number_at(document, "/block");
  return block ? std::optional(static_cast<u32>(*block)) : std::nullopt;
}

/// Sorts the documents by block and returns true if they ran in common blocks. That takes three things:
///   1. Every document has a block.
///   2. Every set that has documents has one for each block, and no block twice.
///   3. Every run of a block began after all runs of the previous block had begun.
/// Rule 3 tells apart two commands whose blocks have the same numbers.
bool sort_by_block(std::vector<ResultSet>& sets) {
  std::map<u32, std::vector<std::string>> begun;  // start times of each block's runs: ISO 8601, so they sort as text
  for (ResultSet& set : sets) {
    std::set<u32> own;
    for (const Json& document : set.documents) {
      const std::optional<u32> block = block_of(document);
      if (!block || !own.insert(*block).second) return false;
      begun[*block].push_back(text_at(document, "/started"));
    }
  }
  std::size_t there = 0;
  for (const ResultSet& set : sets) there += !set.documents.empty();
  std::string last;
  for (const auto& [block, times] : begun) {
    const auto [first, end] = std::minmax_element(times.begin(), times.end());
    if (times.size() != there || *first <= last) return false;
    last = *end;
  }
  for (ResultSet& set : sets) {
    std::sort(set.documents.begin(), set.documents.end(),
              [](const Json& a, const Json& b) { return *block_of(a) < *block_of(b); });
  }
  return true;
}

/// Sorts the documents by seed and returns true if each set that has documents has one for each of the same seeds, two
/// or more.
bool sort_by_seed(std::vector<ResultSet>& sets) {
  std::set<std::set<std::string>> seeds;
  for (const ResultSet& set : sets) {
    if (set.documents.empty()) continue;
    std::set<std::string> own;
    for (const Json& document : set.documents) {
      if (!own.insert(option_at(document, "seed")).second) return false;
    }
    seeds.insert(std::move(own));
  }
  if (seeds.size() != 1 || seeds.begin()->size() < 2) return false;
  for (ResultSet& set : sets) {
    std::sort(set.documents.begin(), set.documents.end(), [](const Json& a, const Json& b) {
      const std::string x = option_at(a, "seed"), y = option_at(b, "seed");
      return std::pair(x.size(), x) < std::pair(y.size(), y);  // the order of whole numbers
    });
  }
  return true;
}

/// Returns a note if the sets do not have the same seeds at a point, of which one has several.
std::string other_seeds(const std::vector<ResultSet>& sets, const Options& options) {
  if (options.differ_in("seed")) return "";
  const Words words = words_at(sets, "seed", option_at);
  std::set<std::set<std::string>> seeds(words.begin(), words.end());
  seeds.erase(std::set<std::string>());  // a set without a result of this point
  return seeds.size() <= 1 ? "" : "the results are of different seeds, so of different operations";
}

/// Returns a note if the sets ran different operations at a point although no option explains that. It is empty if they
/// ran the same operations, or if the documents have no fingerprint.
std::string other_operations(const std::vector<ResultSet>& sets, const Options& options) {
  constexpr const char* kSaid[] = {"workload", "keys", "dist", "churn", "negative", "records", "seed"};
  for (const char* option : kSaid) {
    if (options.differ_in(option)) return "";
  }
  std::set<std::set<std::string>> prints;
  for (const ResultSet& set : sets) {
    std::set<std::string> own;
    for (const Json& document : set.documents) own.insert(text_at(document, "/stream/fingerprint"));
    own.erase("");
    if (!own.empty()) prints.insert(std::move(own));
  }
  if (prints.size() <= 1) return "";
  return "the results are of different operations: the fingerprints of their streams differ";
}

/// Returns the notes on one point. `alike` is true if machines and builds are the same.
std::vector<std::string> notes_of(const std::vector<ResultSet>& sets, const Options& options, bool alike) {
  std::vector<std::string> notes;
  if (!options.differ_in("workload")) notes = differences(sets, kFiles);
  if (alike && options.differ.empty() && notes.empty())
    notes.emplace_back("the results do not differ in options, machine or build");
  if (options.differ_in("latency_every")) {
    notes.emplace_back(
        "the results differ in the share of calls that are timed; timed calls overlap with no others, so timing more "
        "calls lowers the throughput");
  }
  std::string note = other_seeds(sets, options);
  if (note.empty()) note = other_operations(sets, options);
  if (!note.empty()) notes.push_back(std::move(note));
  return notes;
}

/// Compares the documents of all sets at one point. The first set must have some.
Comparison compare_point(std::vector<ResultSet> sets, const Options& options, u64 seed, double effect) {
  Comparison comparison;
  comparison.seed = seed;
  comparison.effect = effect;
  comparison.paired_by = sort_by_block(sets) ? "block" : sort_by_seed(sets) ? "seed" : "";
  comparison.common = options_text(sets.front().documents.front(), options.points);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    VariantSummary variant;
    variant.name = std::string(1, static_cast<char>('a' + i));
    variant.command = sets[i].name;
    if (!options.differ.empty() && !sets[i].documents.empty()) {
      variant.command += "  " + options_text(sets[i].documents.front(), options.differ);
    }
    for (Json& document : sets[i].documents)
      variant.replicates.push_back(replicate_of(std::move(document), "no result"));
    comparison.variants.push_back(std::move(variant));
  }
  return comparison;
}

/// Throws InputError if some results are measured and others are modelled.
void refuse_mixture(const std::vector<ResultSet>& sets) {
  const ResultSet *modelled = nullptr, *measured = nullptr;
  for (const ResultSet& set : sets) {
    for (const Json& document : set.documents) {
      (text_at(document, "/machine/modelled/name").empty() ? measured : modelled) = &set;
    }
  }
  if (modelled == nullptr || measured == nullptr) return;
  if (modelled == measured) {
    throw InputError(fmt::format("compare: '{}' has modelled and measured results; --mix compares them all the same",
                                 modelled->name));
  }
  throw InputError(fmt::format(
      "compare: '{}' has modelled results and '{}' measured ones; a ratio of the two would say more of the model than "
      "of what differs; --mix compares them all the same",
      modelled->name, measured->name));
}

/// Throws InputError if the far memory of some results is a modelled medium and that of others a real one.
void refuse_mixed_media(const std::vector<ResultSet>& sets) {
  const ResultSet *modelled = nullptr, *real = nullptr;
  for (const ResultSet& set : sets) {
    for (const Json& document : set.documents) {
      const std::string medium = text_at(document, "/memory/far/medium");
      if (!medium.empty()) (medium == "modelled" ? modelled : real) = &set;
    }
  }
  if (modelled == nullptr || real == nullptr) return;
  if (modelled == real) {
    throw InputError(
        fmt::format("compare: '{}' has results of a modelled medium and of a real one as far memory; --mix "
                    "compares them all the same",
                    real->name));
  }
  throw InputError(fmt::format(
      "compare: the far memory of '{}' is a modelled medium and that of '{}' a real one; a ratio of the two would say "
      "more of the model than of what differs; --mix compares them all the same",
      modelled->name, real->name));
}

}  // namespace

std::vector<Comparison> compare(std::vector<ResultSet> sets, u64 seed, double effect, bool mixes) {
  for (const ResultSet& set : sets) {
    for (const Json& document : set.documents) {
      if (!document.contains("config") || !document["config"].is_object()) {
        throw InputError(fmt::format("compare: '{}' has a result without a configuration ('config')", set.name));
      }
    }
  }
  if (!mixes) refuse_mixture(sets);
  if (!mixes) refuse_mixed_media(sets);
  const Options options = sort_options(sets);
  const std::vector<std::string> surroundings = differences(sets, kSurroundings);

  std::vector<std::string> points;  // in the order of the first set, then of the others
  std::map<std::string, std::vector<ResultSet>> at;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    for (Json& document : sets[i].documents) {
      const std::string point = options_text(document, options.points);
      std::vector<ResultSet>& of_point = at[point];
      if (of_point.empty()) {
        points.push_back(point);
        for (const ResultSet& set : sets) of_point.push_back({.name = set.name, .documents = {}});
      }
      of_point[i].documents.push_back(std::move(document));
    }
  }
  std::vector<Comparison> comparisons;
  std::vector<std::string> not_compared;
  for (const std::string& point : points) {
    std::vector<ResultSet>& of_point = at[point];
    std::vector<std::string> missing;
    for (const ResultSet& set : of_point) {
      if (set.documents.empty()) missing.push_back(set.name);
    }
    if (of_point.front().documents.empty() || missing.size() + 1 >= sets.size()) {
      not_compared.push_back(
          fmt::format("not compared: {}, since there is no result of it in {}", point, fmt::join(missing, " and in ")));
      continue;
    }
    std::vector<std::string> notes = surroundings;
    std::ranges::move(notes_of(of_point, options, notes.empty()), std::back_inserter(notes));
    comparisons.push_back(compare_point(std::move(of_point), options, seed, effect));
    comparisons.back().notes = std::move(notes);
  }
  if (comparisons.empty()) {
    throw InputError(fmt::format("compare: '{}' has no point in common with the others; a point is a combination of {}",
                                 sets.front().name, fmt::join(options.points, ", ")));
  }
  for (Comparison& comparison : comparisons) {
    comparison.notes.insert(comparison.notes.end(), not_compared.begin(), not_compared.end());
  }
  summarize(comparisons);
  return comparisons;
}

std::vector<Comparison> compare(const CompareCommand& command) {
  std::vector<ResultSet> sets;
  for (const std::string& path : command.paths)
    sets.push_back({.name = path, .documents = read_results("compare", path)});
  return compare(std::move(sets), command.seed, command.effect, command.mixes);
}

}  // namespace latchlab
