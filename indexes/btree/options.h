#pragma once
// The options of `btree`.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/base/types.h"

namespace latchlab::btree {

/// The options of a tree whose nodes have kBytes bytes.
template <u32 kBytes>
struct Options {
  static_assert(kBytes == 256 || kBytes == 1024 || kBytes == 4096);
  static constexpr std::string_view kWord = kBytes == 256 ? "256" : kBytes == 1024 ? "1024" : "4096";

  bool relief = true;  ///< leaves are split between keys that threads change at once (relief.h)

  /// Parses a spec such as btree:node=256. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    const u64 node = reader.number("node", kBytes, 0, ~u64{0});
    if (node != 256 && node != 1024 && node != 4096)
      throw InputError(fmt::format("index {}: node={} is none of 256, 1Ki, 4Ki", spec.name, node));
    // `btree` with another size is another index (MeantBy), unless a tree is made by hand.
    if (node != kBytes) throw InputError(fmt::format("index {} has node={}, not {}", spec.name, kBytes, node));
    const Options options{.relief = reader.flag("relief", true)};
    reader.finish();
    return options;
  }
  std::vector<std::pair<std::string, std::string>> resolved() const {
    return {{"node", std::string(kWord)}, {"relief", relief ? "1" : "0"}};
  }
  static std::string_view about(std::string_view key) {
    if (key == "relief") return "0 or 1: split leaves between keys that threads change at once";
    return "bytes of a node: 256, 1Ki or 4Ki";
  }
};

/// The options of an index that an option of `btree` means.
template <u32 kBytes>
struct OtherOptions : Options<kBytes> {
  static constexpr MeantBy kMeantBy{.index = "btree", .option = "node", .value = Options<kBytes>::kWord};

  static OtherOptions parse(const Spec& spec) { return {Options<kBytes>::parse(spec)}; }
};

}  // namespace latchlab::btree
