#pragma once
// The options of `btree`.
#include <array>
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
  static constexpr std::array<std::string_view, 3> kNodes{"256", "1Ki", "4Ki"};
  static constexpr std::size_t kOwn = kBytes == 256 ? 0 : kBytes == 1024 ? 1 : 2;

  /// Parses a spec such as btree:node=256. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    // `btree` with another size is another index (MeantBy), unless a tree is made by hand.
    if (const std::size_t given = reader.one_of("node", kOwn, {kNodes.begin(), kNodes.end()}); given != kOwn) {
      throw InputError(fmt::format("index {} has node={}, not {}", spec.name, kNodes[kOwn], kNodes[given]));
    }
    reader.finish();
    return {};
  }
  std::vector<std::pair<std::string, std::string>> resolved() const { return {{"node", std::string(kNodes[kOwn])}}; }
  static std::string_view about(std::string_view) { return "bytes of a node: 256, 1Ki or 4Ki"; }
};

/// The options of an index that an option of `btree` means.
template <u32 kBytes>
struct OtherOptions : Options<kBytes> {
  static constexpr MeantBy kMeantBy{
      .index = "btree", .option = "node", .value = Options<kBytes>::kNodes[Options<kBytes>::kOwn]};

  static OtherOptions parse(const Spec& spec) { return {Options<kBytes>::parse(spec)}; }
};

}  // namespace latchlab::btree
