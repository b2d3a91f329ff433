#pragma once
// Peer: absl::flat_hash_map under a coarse policy (map_body.h): open addressing with pairs in the table. It has a byte
// for each slot, and searches 16 of these at a time. It has no order and no scan. The table grows in one step, in the
// middle of an insertion, and never shrinks.
//
// It uses its default hash, with a seed that differs from process to process, and its default allocator. So --alloc and
// --hugepages=thp have no effect on it.
//
// The map does not survive a failed allocation: by then its members describe the larger table already. So the process
// ends where another index throws std::bad_alloc.
#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

#include "indexes/peers/map_body.h"
#include "src/memory/memory_config.h"

namespace latchlab {

/// The default hash, taking std::string_view too: Abseil may have been built with a string_view of its own.
struct AbslStringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view key) const {
    return absl::Hash<absl::string_view>{}(absl::string_view(key.data(), key.size()));
  }
};

template <class Key>
using FlatMap = std::conditional_t<std::is_same_v<Key, U64Key>, absl::flat_hash_map<u64, u64>,
                                   absl::flat_hash_map<std::string, u64, AbslStringHash, std::equal_to<>>>;

template <class Layout, class KeyType>
class AbslFlat : public MapBody<KeyType, FlatMap<KeyType>> {
 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "absl_flat";
  static constexpr std::string_view kLibrary = "Abseil";
  static constexpr std::string_view kOwnMemory = "absl::flat_hash_map allocates its table with operator new";

  template <class Tx>
  Attempt<bool> put_in(Tx&, const Key& key, const auto& value,
                       Put how) noexcept {  // std::bad_alloc ends the process, see above
    return this->put(key, value, how);
  }

  /// O(1), or O(n) for strings.
  Footprint bytes() const {
    const u64 bytes = table_bytes(map_.bucket_count()) + heap_bytes_of_keys(map_);
    return {.live = bytes, .reserved = bytes};
  }

  /// Returns the bytes of a table: a pair and a byte for each slot, a sentinel, and copies of the first 15 bytes.
  static constexpr u64 table_bytes(u64 slots) {
    return slots == 0 ? 0 : slots * (sizeof(typename FlatMap<Key>::value_type) + 1) + 16;
  }

 private:
  using MapBody<Key, FlatMap<Key>>::map_;
};

}  // namespace latchlab
