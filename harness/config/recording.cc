#include "harness/config/recording.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "harness/config/values.h"
#include "src/base/error.h"

namespace latchlab {
namespace {

constexpr u64 kLeastShare = 1'000'000'000;
constexpr u64 kMostCalls = u64{1} << 36;

KeyShare parse_share_of_keys(std::string_view text) {
  if (text == "all") return {.one_in = 1};
  if (!text.starts_with("1/")) {
    throw InputError(fmt::format("--history: keys={} is no share of the keys; write keys=1/64 or keys=all", text));
  }
  return {.one_in = parse_count("--history: the N of keys=1/N", text.substr(2), 1, kLeastShare)};
}

}  // namespace

Recording Recording::parse(std::string_view text) {
  Recording out;
  const std::size_t comma = std::min(text.find(','), text.size());
  out.file = text.substr(0, comma);
  if (out.file.empty() || out.file.starts_with("keys=") || out.file.starts_with("calls=")) {
    throw InputError(fmt::format(
        "--history: '{}' does not begin with a file; write FILE,keys=1/64. --validate=history needs none", text));
  }
  std::set<std::string_view> given;
  for (std::string_view rest = text.substr(comma); !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view option = rest.substr(0, rest.find(','));
    rest.remove_prefix(option.size());
    const std::string_view name = option.substr(0, option.find('='));
    if (!given.insert(name).second) throw InputError(fmt::format("--history: {} is given twice", name));
    if (option.starts_with("keys=")) {
      out.keys = parse_share_of_keys(option.substr(5));
    } else if (option.starts_with("calls=")) {
      out.calls = parse_count("--history: calls=", option.substr(6), 1, kMostCalls);
    } else {
      throw InputError(fmt::format("--history: there is no '{}'; there are keys=1/64, keys=all and calls=1M", option));
    }
  }
  return out;
}

std::string Recording::share() const { return keys.one_in == 1 ? "all" : fmt::format("1/{}", keys.one_in); }

std::string Recording::str() const {
  return fmt::format("{},keys={}", file, share()) + (calls == 0 ? "" : fmt::format(",calls={}", calls));
}

u64 Recording::room_for(u64 records, u32 threads) const {
  if (calls != 0) return calls;
  const u64 loaded = records / keys.one_in;
  return loaded + loaded / 4 + std::max(kMargin, kThreadMargin * threads);
}

}  // namespace latchlab
