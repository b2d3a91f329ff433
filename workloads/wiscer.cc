#include "workloads/wiscer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/file_error.h"
#include "src/base/spec.h"
#include "workloads/shipped.h"
#include "workloads/text_file.h"

namespace latchlab {

namespace {

using Line = TextFile::Line;

constexpr double kSlack = 1e-9;            // tolerance for the sum of proportions
constexpr double kLeastProportion = 1e-6;  // the smallest share of a mix

double number_of(const Line& line, std::string_view value, double least, double most) {
  const std::optional<double> number = parse_double(value);
  if (!number || *number < least || *number > most) {
    throw line.error(most < 1e300 ? fmt::format("needs a number from {} to {}", least, most)
                                  : fmt::format("needs a number of {} or more", least));
  }
  return *number;
}

u64 count_of(const Line& line, std::string_view value, u64 least) {
  constexpr u64 kMost = 1'000'000'000'000;
  const std::optional<u64> count = parse_u64(value);
  if (!count || *count < least || *count > kMost) {
    throw line.error(fmt::format("needs a whole number from {} to {}", least, kMost));
  }
  return *count;
}

/// Returns true if the value is the second of two words, false if it is the first.
bool is_second(const Line& line, std::string_view value, std::string_view first, std::string_view second) {
  if (value != first && value != second) throw line.error(fmt::format("needs {} or {}", first, second));
  return value == second;
}

double proportion_of(const Line& line, std::string_view value) {
  const double share = number_of(line, value, 0, 1);
  if (share > 0 && share < kLeastProportion) throw line.error("is less than the smallest proportion, one in a million");
  return share;
}

constexpr WiscerEngine kEngines[] = {{"ChainedHashing", "chained"}, {"VIPHashing", "vip"}, {"none", ""}};

WiscerEngine engine_of(const Line& line, std::string_view value) {
  const auto known = std::ranges::find(kEngines, value, &WiscerEngine::word);
  if (known != std::end(kEngines)) return *known;
  throw line.error("needs ChainedHashing, VIPHashing or none; leave it out and write --index=NAME for another index");
}

std::string path_of(const Line& line, std::string_view value) {
  if (value.empty()) throw line.error("needs a path");
  return std::string(value);
}

struct Key {
  std::string_view name;
  void (*read)(WiscerFile&, const Line&, std::string_view value);
};
constexpr Key kKeys[] = {
    {"zipf",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.zipf = number_of(line, value, 0, HUGE_VAL); }},
    {"initialSize",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.initial_size = count_of(line, value, 0); }},
    {"operationCount",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.operations = count_of(line, value, 0); }},
    {"fetchProportion",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.fetch = proportion_of(line, value); }},
    {"insertProportion",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.insert = proportion_of(line, value); }},
    {"deleteProportion",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.erase = proportion_of(line, value); }},
    {"distShiftFreq",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.shift_every = count_of(line, value, 1); }},
    {"distShiftPrct", [](WiscerFile& f, const Line& line,
                         std::string_view value) { f.shift_share = number_of(line, value, 0, 100) / 100; }},
    {"storageEngine",
     [](WiscerFile& f, const Line& line, std::string_view value) { f.engine = engine_of(line, value); }},
    {"keyPattern", [](WiscerFile& f, const Line& line,
                      std::string_view value) { f.sequential = is_second(line, value, "random", "sequential"); }},
    {"keyOrder", [](WiscerFile& f, const Line& line,
                    std::string_view value) { f.sorted = is_second(line, value, "random", "sorted"); }},
    {"outputFile", [](WiscerFile& f, const Line& line, std::string_view value) { f.output = path_of(line, value); }},
};

/// Opens the shipped file of this name, even if the folder has one too, or else the file at `path`.
TextFile opened(const std::string& path) {
  constexpr std::string_view kWhat = "Wiscer";
  std::vector<std::string> names;
  for (const Shipped& shipped : shipped_wiscer_files()) {
    if (shipped.name == path) return TextFile(kWhat, path, shipped.text);
    names.emplace_back(shipped.name);
  }
  std::error_code none;
  if (path.find('/') != std::string::npos || std::filesystem::exists(path, none)) return TextFile(kWhat, path);
  throw file_error(kWhat, path,
                   fmt::format("there is no such file, and no shipped one with this name; shipped are {}{}",
                               fmt::join(names, ", "), suggestion(path, names)));
}

}  // namespace

WiscerFile WiscerFile::read(const std::string& path) {
  WiscerFile out;
  const TextFile file = opened(path);
  std::map<std::string, u64, std::less<>> seen;  // the line of each key
  file.for_each_line([&](const Line& line) {
    const std::size_t equals = line.text.find('=');
    if (equals == std::string_view::npos) throw line.error("is not key=value");
    std::string key(line.text.substr(0, equals));
    if (key == "keyorder") key = "keyOrder";
    if (const auto [before, is_new] = seen.emplace(key, line.number); !is_new) {
      throw line.error(fmt::format("repeats {} of line {}", key, before->second));
    }
    const auto known = std::ranges::find(kKeys, key, &Key::name);
    if (known == std::end(kKeys)) {
      std::vector<std::string> names;
      for (const Key& one : kKeys) names.emplace_back(one.name);
      throw line.error(
          fmt::format("has an unknown key; there are {}{}", fmt::join(names, ", "), suggestion(key, names)));
    }
    known->read(out, line, line.text.substr(equals + 1));
  });
  if (seen.empty()) throw file.error("has no line; it needs lines such as initialSize=1000000");
  if (out.operations == 0) throw file.error("needs operationCount, the number of requests, above 0");
  const double sum = out.fetch + out.insert + out.erase;
  if (std::abs(sum - 1) > kSlack) {
    throw file.error(
        fmt::format("has proportions {}, {} and {} of fetches, inserts and deletes, which sum to {}, not to 1",
                    out.fetch, out.insert, out.erase, sum));
  }
  if (out.shift_share > 0 && !out.shift_every) throw file.error("has distShiftPrct without distShiftFreq");
  return out;
}

WiscerEngine WiscerFile::engine_in_effect() const { return engine.value_or(kEngines[0]); }

Mix WiscerFile::mix(double negative) const {
  const double sum = fetch + insert + erase;  // 1, or as close as read() accepts; a mix must be more exact
  Spec spec{.name = "mix", .arg = {}, .options = {}};
  for (const auto& [name, share] : {std::pair{"read", fetch}, std::pair{"insert", insert}, std::pair{"erase", erase}}) {
    if (share > 0) spec.options.emplace_back(name, fmt::format("{}", share / sum * 100));
  }
  return Mix(spec, negative);
}

}  // namespace latchlab
