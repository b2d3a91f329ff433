#pragma once
// The options of `kvdirect`.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "indexes/kvdirect/image.h"
#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab::kvdirect {

struct Options {
  static constexpr u64 kMostBuckets = u64{1} << 29;  // 32 GiB, half of what an address reaches
  static constexpr u32 kValueBytes = 8;

  u64 buckets = 4 << 10;  ///< of 64 bytes; their number is fixed
  double ratio = 0;       ///< their share of all bytes; 0: no limit but memory
  u32 threshold = 15;     ///< the most bytes of a pair that is kept inline

  /// Parses a spec such as kvdirect:buckets=1M,ratio=0.5,inline=16. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    Options options;
    options.buckets = reader.number("buckets", options.buckets, 1, kMostBuckets);
    options.ratio = reader.real("ratio", options.ratio, 0, 1);
    options.threshold = static_cast<u32>(reader.number("inline", options.threshold, 0, kDataBytes));
    reader.finish();
    if (options.most_keys() == 0) {
      throw InputError(
          fmt::format("index {}: ratio={} with {} buckets leaves too little room for keys; give a smaller ratio",
                      spec.name, options.ratio, options.buckets));
    }
    return options;
  }

  /// Returns the bytes of an inline key. With 256 buckets or more, the bucket tells one of its eight bytes.
  u32 key_bytes() const { return buckets >= 256 ? 7 : 8; }
  bool is_inline() const { return key_bytes() + kValueBytes <= threshold; }
  /// Returns the units behind the buckets, of 32 bytes each, that the ratio allows.
  u64 more_units() const {
    constexpr double kMost = u64{1} << kAddressBits;
    if (ratio == 0) return u64{1} << kAddressBits;
    constexpr u64 kUnitsOfLine = kLineBytes / kUnitBytes;
    const double units = static_cast<double>(buckets * kUnitsOfLine) * (1 / ratio - 1);
    return static_cast<u64>(std::min(units, kMost - 1));
  }
  /// Returns the number of keys for which there is room whatever their hashes are. Without a ratio there is no such
  /// number; then it is one that keeps chains short enough to work with, some six lines of pairs.
  u64 most_keys() const {
    if (ratio == 0) return 16 * buckets;
    const u64 bytes = more_units() * kUnitBytes;
    const u64 pairs_of_line = is_inline() ? kSlots / slots_for(key_bytes() + kValueBytes) : kSlots;
    const u64 of_line = is_inline() ? kLineBytes : kLineBytes + pairs_of_line * kUnitBytes;
    const u64 in_bucket = is_inline() ? 1 : 0;  // without a record
    return std::max(bytes / of_line * pairs_of_line, in_bucket);
  }
  u64 least_bytes() const { return buckets * kLineBytes; }

  std::vector<std::pair<std::string, std::string>> resolved() const {
    return {{"buckets", std::to_string(buckets)},
            {"ratio", fmt::format("{}", ratio)},
            {"inline", std::to_string(threshold)}};
  }
  static std::vector<std::string> variants() { return {"kvdirect:buckets=20", "kvdirect:buckets=20,inline=16"}; }
  static std::string_view about(std::string_view key) {
    if (key == "buckets") return "buckets of 64 bytes, for three pairs or ten pointers each; more go to chains";
    if (key == "ratio") return "share of the buckets in all bytes, beyond which the table is full; 0: no limit";
    return "most bytes of a pair that is kept in the bucket: it has 15, or 16 with fewer than 256 buckets";
  }
};

}  // namespace latchlab::kvdirect
