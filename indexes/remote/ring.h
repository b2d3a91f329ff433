#pragma once
// Consistent hashing: which server has a key. Each server has many points on a ring of hashes, and a key belongs to the
// server of the next point. So one server more or less moves only the keys of its own points.
//
// Paper: D. Karger et al. Consistent hashing and random trees. STOC 1997.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/hash.h"
#include "src/base/types.h"

namespace latchlab::remote {

class Ring {
 public:
  /// `names` are those of the servers, at least one; the order of equal sets of names does not matter for a key.
  explicit Ring(const std::vector<std::string>& names) {
    for (u32 server = 0; server < names.size(); ++server) {
      for (u64 point = 0; point < kPoints; ++point) points_.emplace_back(hash_bytes(names[server], point), server);
    }
    std::ranges::sort(points_);
  }

  /// Returns the number of the server that has the key. O(log servers).
  [[nodiscard]] u32 server_of(std::string_view key) const {
    const auto next = std::ranges::upper_bound(points_, hash_bytes(key, kKeySeed), {}, &std::pair<u64, u32>::first);
    return next == points_.end() ? points_.front().second : next->second;
  }

 private:
  static constexpr u64 kPoints = 160;       // for each server: shares differ by some 8 % from each other
  static constexpr u64 kKeySeed = kPoints;  // not that of a point

  std::vector<std::pair<u64, u32>> points_;
};

}  // namespace latchlab::remote
