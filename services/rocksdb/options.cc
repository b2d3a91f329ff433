#include "services/rocksdb/options.h"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab::tier {

namespace {

constexpr u64 kMostSize = u64{1} << 46;

/// The text that is right, for errors.
constexpr std::string_view kRight =
    "write latchlab://[far=MEDIUM,]size=SIZE[,rule=near-first|second-touch][,promote=1|2][,stats=PATH], such as "
    "latchlab://size=64Mi";

PlacementKind rule_of(std::string_view text) {
  const std::optional<PlacementKind> rule = value_of_word<PlacementKind>(text);
  if (rule == PlacementKind::kNearFirst || rule == PlacementKind::kSecondTouch) return *rule;
  throw InputError(fmt::format("rule='{}' must be near-first or second-touch{}", text,
                               rule ? ", since RocksDB's own cache takes each block first" : ""));
}

TierOptions read(const Spec& spec) {
  // The tier's own words, and those of the medium.
  Spec own{.name = spec.name, .arg = spec.arg, .options = {}};
  std::string far, rest;
  for (const auto& [key, value] : spec.options) {
    if (key == "far") {
      far = value;
    } else if (key == "rule" || key == "promote" || key == "stats") {
      own.options.emplace_back(key, value);
    } else {
      rest += fmt::format(",{}={}", key, value);
    }
  }
  TierOptions options;
  if (!far.empty()) {
    options.far = MediumOptions::parse(far + rest, "far");
    options.size = options.far->size;
  } else {
    own = spec;
  }
  SpecReader reader(own, std::string(kScheme));
  if (far.empty()) options.size = reader.number("size", 0, TierOptions::kLeastSize, kMostSize);
  options.rule = rule_of(reader.text("rule", word(options.rule)));
  options.promote = static_cast<u32>(reader.number("promote", options.promote, 1, 2));
  options.stats = reader.text("stats", "");
  reader.finish();
  if (options.size == 0) throw InputError("the tier needs a size");
  return options;
}

}  // namespace

TierOptions parse_uri(std::string_view uri) {
  const std::string_view start = "://";
  try {
    if (!uri.starts_with(kScheme) || !uri.substr(kScheme.size()).starts_with(start))
      throw InputError("the words of the tier begin with latchlab://");
    const std::string_view words = uri.substr(kScheme.size() + start.size());
    if (words.empty()) throw InputError("the tier needs a size");
    // A spec: its name is the scheme, and it has no argument.
    return read(Spec::parse(fmt::format("{}:{}", kScheme, words)));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}; {}", error.what(), kRight));
  }
}

}  // namespace latchlab::tier
