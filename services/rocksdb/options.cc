#include "services/rocksdb/options.h"

#include <string>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab::tier {

namespace {

constexpr u64 kMostSize = u64{1} << 46;

/// The text that is right, for errors.
constexpr std::string_view kRight =
    "write latchlab://[far=MEDIUM,]size=SIZE[,promote=1|2][,stats=PATH], such as latchlab://size=64Mi";

TierOptions read(const Spec& spec) {
  // The tier's own words, and those of the medium.
  Spec own{.name = spec.name, .arg = spec.arg, .options = {}};
  std::string far, rest;
  for (const auto& [key, value] : spec.options) {
    if (key == "far") {
      far = value;
    } else if (key == "promote" || key == "stats") {
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
