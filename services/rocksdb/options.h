#pragma once

// The options of the tier, as the URI of RocksDB's secondary cache spells them:
//
//     latchlab://[far=MEDIUM,]size=SIZE[,rule=RULE][,promote=N][,stats=PATH]
//
//     latchlab://size=64Mi,stats=/tmp/tier.json
//     latchlab://far=node:1,size=4Gi
//     latchlab://far=model:optane,size=4Gi,lat=350
//
//     far        the medium (src/memory/media/medium_options.h): node:N, file:PATH or model:PRESET. All words that are
//                not the tier's are the medium's. Without it, blocks lie in this process's heap
//     size       the most bytes of far memory, as in 64M and 64Mi: blocks, their keys and heads, and what waits to be
//                freed
//     rule       near-first, the default: the tier takes each block that RocksDB's cache evicts; second-touch: when it
//                is full, it takes those that it has been offered before lately (ghosts.h)
//     promote    the hit in the tier with which a block moves up to RocksDB's own cache: 1, or 2, as RocksDB counts
//     stats      a file for the counts, as JSON. The tier writes it at its end, or at the end of the process
//
// Commas separate the words, so a path has none.

#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/memory/media/medium_options.h"
#include "src/memory/media/placement_rule.h"

namespace latchlab::tier {

struct TierOptions {
  /// The smallest tier, in bytes.
  static constexpr u64 kLeastSize = u64{1} << 20;

  u64 size = 0;
  std::optional<MediumOptions> far;                ///< of the same size; empty: the heap
  PlacementKind rule = PlacementKind::kNearFirst;  ///< this or kSecondTouch
  u32 promote = 1;
  std::string stats;  ///< a path; empty: none
};

/// The scheme of the URIs.
inline constexpr std::string_view kScheme = "latchlab";

/// Returns the options of a URI. Throws InputError, which does not repeat the URI, for what is none of the tier.
[[nodiscard]] TierOptions parse_uri(std::string_view uri);

}  // namespace latchlab::tier
