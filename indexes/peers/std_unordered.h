#pragma once
// Peer: std::unordered_map under a coarse policy (map_body.h): libstdc++'s chains. It uses the default hash (the
// identity on integers, modulo a prime number of buckets), load factor and allocator. So --alloc and --hugepages=thp
// have no effect on it. It has no order and no scan. Its buckets grow in one step, in the middle of an insertion, and
// never shrink.
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "indexes/peers/map_body.h"
#include "src/memory/memory_config.h"

namespace latchlab {

/// The map. Lookups by a view need a transparent hash for strings; integers have the default hash.
template <class Key>
using ChainedMap = std::conditional_t<std::is_same_v<Key, U64Key>, std::unordered_map<u64, u64>,
                                      std::unordered_map<std::string, u64, StringHash, std::equal_to<>>>;

template <class Layout, class KeyType>
class StdUnordered : public MapBody<KeyType, ChainedMap<KeyType>> {
 public:
  using Key = KeyType;
  static constexpr std::string_view kName = "std_unordered";
  static constexpr std::string_view kLibrary = "libstdc++";
  static constexpr std::string_view kOwnMemory = "std::unordered_map allocates its nodes with operator new";

  /// O(1), or O(n) for strings.
  Footprint bytes() const {
    const u64 bytes = map_.size() * kNodeBytes + map_.bucket_count() * kBucketBytes + heap_bytes_of_keys(map_);
    return {.live = bytes, .reserved = bytes};
  }

  /// The bytes of a node: a pointer, the pair, and for strings their hash.
  static constexpr u64 kNodeBytes = sizeof(void*) + sizeof(typename ChainedMap<Key>::value_type) +
                                    (std::is_same_v<Key, U64Key> ? 0 : sizeof(std::size_t));
  static constexpr u64 kBucketBytes = sizeof(void*);

 private:
  using MapBody<Key, ChainedMap<Key>>::map_;
};

}  // namespace latchlab
